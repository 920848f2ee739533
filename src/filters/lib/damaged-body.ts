import { headersForChangedBody } from '../../http/changed-body-headers.ts'
import { headerValue, linesWithout, type HeaderLines } from '../../http/headers.ts'
import { rejoined, startOf } from './body-start.ts'
import { DAMAGE, type DamageMode } from './damage.ts'
import type { FaultContext, Output } from '../fault.ts'

/** The rest of a larger body passes unchanged. */
const MAX_DAMAGED = 256 * 1024

/**
 * A response that is one body, damaged, with a head that is true of it; as it was where that cannot
 * be.
 */
export async function damagedBody(
  ctx: FaultContext,
  { head, body }: Output,
  mode: DamageMode,
  type: string | undefined,
): Promise<Output> {
  const rest = body[Symbol.asyncIterator]()
  const { chunks, ended } = await startOf(rest, MAX_DAMAGED)
  const bytes = Buffer.concat(chunks)
  const text = canDamage(mode, bytes, head.headers)
    ? DAMAGE[mode](bytes.toString('latin1'), ctx.random)
    : undefined
  if (text === undefined) return { head, body: rejoined([bytes], rest) }
  ctx.injected()
  const out = Buffer.from(text, 'latin1')
  const goesOn = !ended && (mode === 'bitflip' || mode === 'invalid-utf8')
  const length = goesOn ? grown(head.headers, out.length - bytes.length) : out.length
  // Flipped bits change neither the length nor the coding.
  const headers = mode === 'bitflip' ? head.headers : headersForChangedBody(head.headers, length)
  return {
    head: { ...head, headers: type === undefined ? headers : withType(headers, type) },
    body: rejoined([out], goesOn ? rest : undefined),
  }
}

/** The lines with another content type. */
export function withType(headers: HeaderLines, type: string): string[] {
  return [...linesWithout(headers, (name) => name === 'content-type'), 'Content-Type', type]
}

/**
 * Where there is no body there may be none; and in coded bytes there is no text to put anything in.
 */
function canDamage(mode: DamageMode, bytes: Uint8Array, headers: HeaderLines): boolean {
  const coding = headerValue(headers, 'content-encoding') ?? 'identity'
  return bytes.length > 0 && (mode !== 'invalid-utf8' || coding.toLowerCase() === 'identity')
}

/** Returns the declared length plus a number of bytes. */
function grown(headers: HeaderLines, by: number): number | undefined {
  const declared = headerValue(headers, 'content-length')
  return declared === undefined ? undefined : Number(declared) + by
}
