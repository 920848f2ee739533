import { replaceUnseen } from '../base/text/foreign-text.ts'

/** Longest tool name that becomes a label value, in UTF-16 units. */
export const MAX_TOOL_LABEL = 128

/**
 * A label value for a name that a client made up. Applying it twice changes nothing more, and two
 * names that come out alike are one series.
 */
export function toolLabel(name: string): string {
  const cut = name.length > MAX_TOOL_LABEL ? name.slice(0, MAX_TOOL_LABEL) : name
  // Through bytes and back: fixes lone surrogates, and keeps no reference to a long parent string.
  return replaceUnseen(Buffer.from(cut, 'utf8').toString('utf8'), () => '\ufffd')
}
