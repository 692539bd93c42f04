export { LiveLists, serveLiveList } from "./serve.ts";
export type { SetOfList } from "./set-list.ts";
