import { connect, type PeerCertificate } from "node:tls";

const HANDSHAKE_LIMIT_MS = 5_000;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface CertificateReport {
  /** Days until the certificate expires; 0 if it cannot be used. */
  days: number;
  /** The problem and how to fix it; undefined if the certificate can be used. */
  fault?: {
    says: string;
    remedy: string;
    /** Whether the server presented its certificate. If not, the server may still be starting. */
    presented: boolean;
  };
}

interface Presented {
  certificate: PeerCertificate;
  /** OpenSSL's code, such as `SELF_SIGNED_CERT_IN_CHAIN`; undefined if the certificate is trusted. */
  code: string | undefined;
}

function handshake(url: URL): Promise<Presented> {
  const { promise, resolve, reject } = Promise.withResolvers<Presented>();
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // Accept an untrusted certificate, to read what is wrong with it. Nothing is sent on this connection.
  const socket = connect({
    host,
    servername: host,
    port: Number(url.port || 443),
    rejectUnauthorized: false,
  });
  socket.setTimeout(HANDSHAKE_LIMIT_MS, () => socket.destroy(new Error("no response to the TLS handshake")));
  socket.once("secureConnect", () => {
    const { authorizationError } = socket;
    // Node declares this property as an Error, but it contains OpenSSL's code as text.
    const code = authorizationError ? String(authorizationError) : undefined;
    resolve({ certificate: socket.getPeerCertificate(), code });
    socket.end();
  });
  socket.once("error", reject);
  return promise;
}

function faultOf(host: string, { certificate, code }: Presented): CertificateReport["fault"] {
  if (code === undefined) return undefined;
  if (code === "CERT_HAS_EXPIRED")
    return {
      says: `The certificate of ${host} has expired.`,
      remedy: "Renew it and reload the server.",
      presented: true,
    };
  if (code.includes("ERR_TLS_CERT_ALTNAME_INVALID")) {
    return {
      says: `The certificate of ${host} is for other names (${certificate.subjectaltname ?? "none"}).`,
      remedy: "Use one of these names in the address, or issue a certificate for this one.",
      presented: true,
    };
  }
  return {
    says: `The certificate of ${host} is not trusted (${code}).`,
    remedy: "Set NODE_EXTRA_CA_CERTS to the file of the authority that signed it.",
    presented: true,
  };
}

/** Returns whether the certificate at a URL is trusted, has the right name, and has not expired. */
export async function inspectCertificate(address: string): Promise<CertificateReport> {
  const url = new URL(address);
  let presented: Presented;
  try {
    presented = await handshake(url);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const says = `${url.host} does not complete a TLS handshake (${why}).`;
    const remedy = "Check the address and the port, and that the listener has a certificate.";
    return { days: 0, fault: { says, remedy, presented: false } };
  }
  const fault = faultOf(url.host, presented);
  if (fault !== undefined) return { days: 0, fault };
  return { days: Math.floor((Date.parse(presented.certificate.valid_to) - Date.now()) / DAY_MS) };
}
