import { type Ending, FAILURES } from './failure-script.ts'

/** The endings that have a column. */
export const ENDINGS = ['ok', ...FAILURES] as const satisfies readonly Ending[]

/** The counts of one tool: all calls, and how they ended. */
export type TallyRow = Readonly<Record<Ending | 'calls', number>>

/** Counts how the calls of each tool ended. What is none of the known endings counts as a call only. */
export class Tally {
  readonly #rows = new Map<string, Record<Ending | 'calls', number>>()

  add(tool: string, ending: string, calls = 1): void {
    let row = this.#rows.get(tool)
    if (row === undefined) {
      row = { calls: 0, ok: 0, tool_error: 0, rpc_error: 0, http_error: 0, reset: 0 }
      this.#rows.set(tool, row)
    }
    row.calls += calls
    if (isEnding(ending)) row[ending] += calls
  }

  /** The counts as they are now. */
  copy(): Tally {
    return this.since(new Tally())
  }

  /** Returns the increase since the other tally. */
  since(earlier: Tally): Tally {
    const grown = new Tally()
    for (const [tool, row] of this.#rows) {
      const before = earlier.row(tool)
      if (row.calls === before.calls) continue
      for (const ending of ENDINGS) grown.add(tool, ending, row[ending] - before[ending])
      const known = grown.row(tool).calls
      grown.add(tool, 'other', row.calls - before.calls - known)
    }
    return grown
  }

  row(tool: string): TallyRow {
    return (
      this.#rows.get(tool) ?? {
        calls: 0,
        ok: 0,
        tool_error: 0,
        rpc_error: 0,
        http_error: 0,
        reset: 0,
      }
    )
  }

  total(): TallyRow {
    const sum = new Tally()
    for (const row of this.#rows.values()) {
      let known = 0
      for (const ending of ENDINGS) {
        sum.add('', ending, row[ending])
        known += row[ending]
      }
      sum.add('', 'other', row.calls - known)
    }
    return sum.row('')
  }

  get tools(): readonly string[] {
    return [...this.#rows.keys()].toSorted((a, b) => (a < b ? -1 : 1))
  }

  toJSON(): Readonly<Record<string, TallyRow>> {
    return Object.fromEntries(this.tools.map((tool) => [tool, this.row(tool)]))
  }
}

/** True when two rows hold the same numbers. */
export function sameRow(a: TallyRow, b: TallyRow): boolean {
  return a.calls === b.calls && ENDINGS.every((ending) => a[ending] === b[ending])
}

function isEnding(text: string): text is Ending {
  return (ENDINGS as readonly string[]).includes(text)
}
