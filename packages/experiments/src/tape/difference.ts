import { type Fields, isRecord, jsonInText, listOf, oneLine, pointerTo, textOf } from '#base'
import { REDACTED } from '#sidecar'

/** A place at which two values differ. */
export interface Difference {
  /** A JSON Pointer, in which `*` is any item of an array. */
  readonly at: string
  readonly kind: 'missing' | 'new' | 'type' | 'value'
  readonly recorded?: unknown
  readonly found?: unknown
}

const MAX_FOUND = 20
const MAX_DEPTH = 32
const MAX_ITEMS = 1_000

/** Returns where a found value differs from the recorded one: in its shape, or in any value. */
export function differences(recorded: unknown, found: unknown, byValue: boolean): Difference[] {
  const all: Difference[] = []
  for (const each of compared(recorded, found, [], byValue)) {
    if (all.push(each) === MAX_FOUND) break
  }
  return all
}

function* compared(
  recorded: unknown,
  found: unknown,
  path: readonly string[],
  byValue: boolean,
): Generator<Difference> {
  if (path.length > MAX_DEPTH || recorded === REDACTED) return
  // A value that may be missing has no shape.
  if (!byValue && (recorded === null || found === null)) return
  const at = pointerTo(path)
  const [inner, other] = [recorded, found].map((each) => jsonInText(textOf(each) ?? ''))
  const [members, others] = [recorded, found].map((each) => membersOf(each, byValue))
  if (recorded === undefined || found === undefined) {
    const kind = found === undefined ? 'missing' : 'new'
    if (recorded !== found) yield { at, kind, recorded, found }
  } else if (typeOf(recorded) !== typeOf(found)) yield { at, kind: 'type', recorded, found }
  else if (inner !== undefined && other !== undefined) yield* compared(inner, other, path, byValue)
  else if (members !== undefined && others !== undefined) {
    for (const key of new Set([...Object.keys(members), ...Object.keys(others)])) {
      // Matters of the transport, and of the protocol version.
      if (key === '_meta' || (key === 'resultType' && path.length === 0)) continue
      yield* compared(own(members, key), own(others, key), [...path, key], byValue)
    }
  } else if (recorded !== found && (byValue || path.at(-1) === 'isError')) {
    yield { at, kind: 'value', recorded, found }
  }
}

/** Returns the members of an object, and the items of an array: each, or one that has their shape. */
function membersOf(value: unknown, byValue: boolean): Fields | undefined {
  if (!Array.isArray(value)) return isRecord(value) ? value : undefined
  return byValue ? Object.fromEntries(value.entries()) : { '*': merged(value) }
}

/** Returns an item with the members of all items; null, which has no shape, without any. */
function merged(items: readonly unknown[]): unknown {
  const [first = null] = items
  if (!isRecord(first)) return first
  const records = listOf(items.slice(0, MAX_ITEMS)).toReversed()
  return Object.fromEntries(records.flatMap((item) => Object.entries(item)))
}

function own(record: Fields, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

/** Returns a line for each difference. */
export function differencesText(all: readonly Difference[]): string {
  return all.map((each) => `  ${oneLine(differenceText(each))}\n`).join('')
}

function differenceText({ at, kind, recorded, found }: Difference): string {
  const place = at === '' ? 'the result' : at
  if (kind === 'missing') return `${place} is missing`
  if (kind === 'new') return `${place} is new`
  if (kind === 'type') return `${place} is now ${typeOf(found)}, not ${typeOf(recorded)}`
  return `${place} is now ${shown(found)}, not ${shown(recorded)}`
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, 60)
}
