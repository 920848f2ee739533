import { linesWithout, type HeaderLines } from './headers.ts'

/** Headers that apply to one connection and are written anew for the next. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'te',
])

/**
 * Headers that `Connection: <name>` cannot remove. Nominating them is either an error or an attempt
 * to make the upstream see a request without its credentials or its framing.
 */
const ESSENTIAL = new Set([
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'authorization',
  'cookie',
  'accept',
  'origin',
  'last-event-id',
])

function isEssential(name: string): boolean {
  return ESSENTIAL.has(name) || name.startsWith('mcp-') || name.startsWith('x-forwarded-')
}

/** Excludes most headers by their length, without comparing names. */
function mayBeHopByHop(length: number): boolean {
  return length === 10 || length === 17 || length === 2 || length === 7 || length === 16
}

/**
 * Returns the end-to-end header lines: the same array when none was dropped. `TE: trailers` is
 * kept, because trailers are forwarded.
 */
export function endToEnd(lines: HeaderLines): HeaderLines {
  let kept: string[] | undefined
  let nominated: Set<string> | undefined
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const name = mayBeHopByHop(lines[i]!.length) ? lines[i]!.toLowerCase() : ''
    if (name === '' || !HOP_BY_HOP.has(name)) {
      kept?.push(lines[i]!, lines[i + 1]!)
      continue
    }
    kept ??= lines.slice(0, i)
    if (name === 'connection') nominated = nominate(nominated, lines[i + 1]!)
    if (name === 'te' && lines[i + 1]!.trim().toLowerCase() === 'trailers') {
      kept.push(lines[i]!, lines[i + 1]!)
    }
  }
  if (kept === undefined) return lines
  const dropped = nominated
  return dropped === undefined ? kept : linesWithout(kept, (name) => dropped.has(name))
}

function nominate(names: Set<string> | undefined, value: string): Set<string> | undefined {
  if (value === 'keep-alive' || value === 'close') return names
  for (const part of value.split(',')) {
    const name = part.trim().toLowerCase()
    if (name === '' || name === 'close' || HOP_BY_HOP.has(name) || isEssential(name)) continue
    names ??= new Set()
    names.add(name)
  }
  return names
}
