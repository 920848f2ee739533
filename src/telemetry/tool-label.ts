import { replaceUnseen } from '../base/text/foreign-text.ts'

/** The length of the longest label value, in UTF-16 code units. */
export const MAX_TOOL_LABEL = 128

/** The label of what is counted for all tools together. */
export const ALL_TOOLS = '*'

/** The label of all that exceeds a bound. */
export const OTHER = 'other'

/**
 * Returns a label value for an untrusted name. Applying the function twice changes nothing more,
 * and names with equal labels are one series.
 */
export function toolLabel(name: string): string {
  const cut = name.length > MAX_TOOL_LABEL ? name.slice(0, MAX_TOOL_LABEL) : name
  // Through bytes and back: fixes lone surrogates, and keeps no reference to a long parent string.
  return replaceUnseen(Buffer.from(cut, 'utf8').toString('utf8'), () => '\ufffd')
}
