/** Collections that Payload itself writes. */
export const OWN = /^payload-/;
