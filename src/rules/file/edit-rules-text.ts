import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument, type YAMLMap } from 'yaml'
import { parseRules } from './parse.ts'
import type { RulesFile } from './schema.ts'

const PLAIN = /^[A-Za-z][-A-Za-z0-9_./]*$/
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i

/** Adds keys to the text of a rules file. The rest of the text stays unchanged. */
export class RulesTextEdit {
  readonly root: YAMLMap
  readonly rules: readonly YAMLMap[]
  readonly #text: string
  readonly #document: ReturnType<typeof parseDocument>
  readonly #splices: { readonly at: number; readonly end: number; readonly text: string }[] = []

  /** Throws unless the rules are written as a map with a list of maps. */
  constructor(text: string) {
    this.#text = text
    this.#document = parseDocument(text)
    const { contents } = this.#document
    const rules = isMap(contents) ? contents.get('rules', true) : undefined
    if (!isMap(contents) || !isSeq(rules)) throw new TypeError('the file has no list of rules')
    this.root = contents
    this.rules = rules.items.map((rule) => {
      if (!isMap(rule)) throw new TypeError('a rule is not a map')
      return rule
    })
  }

  /**
   * Writes a key with a string or an object of strings: replaces the key, or adds it before another
   * key.
   */
  set(map: YAMLMap, key: string, value: string | object, before?: string): void {
    const there = map.get(key, true) as Node | undefined
    if (there !== undefined) {
      this.#replace(there, this.#written(value))
      return
    }
    const pair = `${this.#quoted(key)}: ${this.#written(value)}`
    const place = map.items.findIndex((each) => isScalar(each.key) && each.key.value === before)
    const next = map.items[Math.max(place, 0)]?.key as Node | undefined
    if (next?.range == null) throw new TypeError('an empty map')
    const at = this.#startOf(next)
    this.#splices.push({
      at,
      end: at,
      text: map.flow === true ? `${pair}, ` : `${pair}${this.#lineBreak}${this.#indentOf(at)}`,
    })
  }

  /** Writes strings into the map below a key of a rule, which may be missing or an alias. */
  add(map: YAMLMap, keys: readonly string[], values: Readonly<Record<string, string>>): void {
    const [key, ...rest] = keys
    if (key === undefined) {
      for (const [name, value] of Object.entries(values)) this.set(map, name, value)
      return
    }
    const there = map.get(key, true) as unknown
    const nested = (below: readonly string[]): object =>
      below.reduceRight<object>((inner, each) => ({ [each]: inner }), values)
    if (isMap(there) && there.items.length > 0) this.add(there, rest, values)
    else if (isAlias(there)) {
      const shared = there.toJS(this.#document) as Record<string, unknown>
      this.#replace(there, JSON.stringify(merged(shared, nested(rest))))
    } else {
      this.set(map, key, nested(rest), nameOf(map.items[1]?.key))
    }
  }

  /** Returns the edited text, or undefined when parsing it does not give the intended values. */
  finish(isWanted: (file: RulesFile) => boolean): string | undefined {
    let text = this.#text
    // From the end, so that offsets stay valid; edits at one offset keep their order.
    const order = this.#splices.map((splice, index) => ({ ...splice, index }))
    order.sort((a, b) => b.at - a.at || b.index - a.index)
    for (const splice of order) {
      text = `${text.slice(0, splice.at)}${splice.text}${text.slice(splice.end)}`
    }
    const parsed = parseRules(text)
    return parsed.ok && isWanted(parsed.file) ? text : undefined
  }

  get #lineBreak(): string {
    return this.#text.includes('\r\n') ? '\r\n' : '\n'
  }

  #replace(node: Node, text: string): void {
    const [at, end] = node.range ?? []
    if (at === undefined || end === undefined) throw new TypeError('the value has no position')
    this.#splices.push({ at, end, text })
  }

  /** Anchors and tags precede their values. */
  #startOf({ range }: Node): number {
    return range![0]
  }

  #indentOf(at: number): string {
    const line = this.#text.slice(this.#text.lastIndexOf('\n', at - 1) + 1, at)
    return ' '.repeat(line.replace('\ufeff', '').length)
  }

  #written(value: unknown): string {
    if (typeof value === 'string') return this.#quoted(value)
    const pairs = Object.entries(value as object).map(
      ([key, each]) => `${this.#quoted(key)}: ${this.#written(each)}`,
    )
    return `{ ${pairs.join(', ')} }`
  }

  /** Keeps JSON as JSON. */
  #quoted(text: string): string {
    const isPlain = this.root.flow !== true && PLAIN.test(text) && !WORDS.test(text)
    const isTime = this.root.flow !== true && /^[0-9]{4}-[0-9T:-]+Z$/.test(text)
    return isPlain || isTime ? text : JSON.stringify(text)
  }
}

function nameOf(key: unknown): string | undefined {
  return isScalar(key) && typeof key.value === 'string' ? key.value : undefined
}

function merged(one: object, other: object): object {
  const result: Record<string, unknown> = { ...one }
  for (const [key, value] of Object.entries(other)) {
    const own = result[key]
    const both = typeof own === 'object' && own !== null && typeof value === 'object'
    result[key] = both ? merged(own, value as object) : value
  }
  return result
}
