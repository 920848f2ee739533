import { asBuffer } from '../../../base/bytes.ts'

const LINE = /([^\r\n]*)(\r\n|\r|\n|$)/g
const DATA = /^data(?:: ?|$)/

/**
 * An event whose data, one character for each byte, is another one; its other fields and its ends
 * of lines stay. Undefined where it has no data, or `change` leaves it as it is.
 */
export function withEventData(
  raw: Uint8Array,
  change: (data: string) => string | undefined,
): Uint8Array | undefined {
  const text = asBuffer(raw).toString('latin1')
  const data: string[] = []
  let before = ''
  let behind = ''
  let end = '\n'
  for (const [line, content = '', lineEnd = ''] of text.matchAll(LINE)) {
    const field = DATA.exec(content)?.[0]
    if (field !== undefined) {
      if (data.length === 0) end = lineEnd
      data.push(content.slice(field.length))
    } else if (data.length === 0) before += line
    else behind += line
  }
  const changed = data.length === 0 ? undefined : change(data.join('\n'))
  if (changed === undefined) return undefined
  const lines = changed.split('\n').map((line) => `data: ${line}${end}`)
  return Buffer.from(before + lines.join('') + behind, 'latin1')
}
