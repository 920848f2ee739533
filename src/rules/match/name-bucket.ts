import type { HeaderLines } from '../../http/headers.ts'
import type { Candidates } from './candidates.ts'
import type { CompiledRule } from './compiled-rule.ts'
import { isHeader } from './header-test.ts'
import { headerIs } from './match-tests.ts'
import { readHeaderText } from '../select/sticky-key.ts'

/** So few rules are tested one by one as fast as they are looked up. */
const FEW = 4

interface HeaderValues {
  readonly name: string
  readonly rules: Map<string, CompiledRule[]>
}

/**
 * Rules that the same calls may match. Where there are many, those that want one value of a header
 * are looked up by it: a file often has the same rule for many values of the same header.
 */
export class Bucket {
  readonly #always: CompiledRule[] = []
  readonly #byHeader: HeaderValues[] = []

  /** `rules` are in file order. */
  constructor(rules: readonly CompiledRule[]) {
    for (const rule of rules) {
      const wanted =
        rules.length <= FEW
          ? undefined
          : rule.tests.map(headerIs).find((found) => found !== undefined)
      if (wanted === undefined) this.#always.push(rule)
      else this.#file(wanted.header, wanted.only, rule)
    }
  }

  /** Adds the rules that a call with these headers may match. */
  gather(headers: HeaderLines, into: Candidates): void {
    into.add(this.#always)
    for (let i = 0; i < this.#byHeader.length; i++) lookUp(this.#byHeader[i]!, headers, into)
  }

  #file(name: string, value: string, rule: CompiledRule): void {
    let values = this.#byHeader.find((known) => known.name === name)
    if (values === undefined) {
      values = { name, rules: new Map() }
      this.#byHeader.push(values)
    }
    const rules = values.rules.get(value)
    if (rules === undefined) values.rules.set(value, [rule])
    else rules.push(rule)
  }
}

function lookUp({ name, rules }: HeaderValues, lines: HeaderLines, into: Candidates): void {
  let first: string | undefined
  let more: Set<string> | undefined
  for (let i = 0; i + 1 < lines.length; i += 2) {
    const key = lines[i]!
    if (!isHeader(key, name)) continue
    const value = readHeaderText(name, lines[i + 1]!)
    // A line that is there twice must not add its rules twice.
    if (first === value || more?.has(value) === true) continue
    if (first === undefined) first = value
    else (more ??= new Set()).add(value)
    const found = rules.get(value)
    if (found !== undefined) into.add(found)
  }
}
