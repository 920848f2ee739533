import { seriesOf } from './scrape.ts'

/** Counts of calls by the origin of their errors, and of injections. */
export interface Account {
  readonly calls: number
  readonly injected: number
  readonly real: number
  readonly faults: number
}

const NONE: Account = { calls: 0, injected: 0, real: 0, faults: 0 }

/** The counts of each tool on a metrics page. */
export class Accounts {
  readonly #tools: ReadonlyMap<string, Account>

  constructor(page: string | ReadonlyMap<string, Account>) {
    this.#tools = typeof page === 'string' ? read(page) : page
  }

  get tools(): readonly string[] {
    return [...this.#tools.keys()].filter((tool) => tool !== '').toSorted()
  }

  of(tool: string): Account {
    return this.#tools.get(tool) ?? NONE
  }

  total(): Account {
    return this.tools.reduce((sum, tool) => plus(sum, this.of(tool)), NONE)
  }

  /** Returns the increase since the earlier page. */
  since(earlier: Accounts): Accounts {
    const grown = this.tools.map(
      (tool) => [tool, plus(this.of(tool), earlier.of(tool), -1)] as const,
    )
    return new Accounts(new Map(grown))
  }

  toJSON(): Readonly<Record<string, Account>> {
    return Object.fromEntries(this.tools.map((tool) => [tool, this.of(tool)]))
  }
}

function read(page: string): ReadonlyMap<string, Account> {
  const tools = new Map<string, Account>()
  const add = (tool: string, more: Partial<Account>): void => {
    tools.set(tool, plus(tools.get(tool) ?? NONE, { ...NONE, ...more }))
  }
  for (const { labels, value } of seriesOf(page, 'squall_calls_total')) {
    if (labels.get('method') !== 'tools/call') continue
    const failed = labels.get('outcome') === 'ok' ? 0 : value
    const injected = labels.get('origin') === 'injected' ? failed : 0
    add(labels.get('tool') ?? '', { calls: value, injected, real: failed - injected })
  }
  for (const { labels, value } of seriesOf(page, 'squall_faults_injected_total')) {
    add(labels.get('tool') ?? '', { faults: value })
  }
  return tools
}

function plus(a: Account, b: Account, times = 1): Account {
  return {
    calls: a.calls + times * b.calls,
    injected: a.injected + times * b.injected,
    real: a.real + times * b.real,
    faults: a.faults + times * b.faults,
  }
}
