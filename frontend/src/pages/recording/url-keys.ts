// The URL keys of the recording page: its section, and the data warning to mark.
import { text } from "../../state/url-key";

export const RECORDING_KEYS = { section: text(), filter: text() };
