import { afterAll } from "vitest";
import { stopSharedPlatform } from "./platform.ts";

afterAll(stopSharedPlatform);
