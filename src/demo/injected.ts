import { seriesOf } from './scrape.ts'

/** Whose errors the calls of the tools ended with, and how often faults took effect. */
export interface Blame {
  readonly calls: number
  readonly injected: number
  readonly real: number
  readonly faults: number
}

const NONE: Blame = { calls: 0, injected: 0, real: 0, faults: 0 }

/** What a metrics page says of errors, by tool. */
export class BlameByTool {
  readonly #tools: ReadonlyMap<string, Blame>

  constructor(page: string) {
    const tools = new Map<string, Blame>()
    const add = (tool: string, more: Partial<Blame>): void => {
      const { calls, injected, real, faults } = tools.get(tool) ?? NONE
      tools.set(tool, {
        calls: calls + (more.calls ?? 0),
        injected: injected + (more.injected ?? 0),
        real: real + (more.real ?? 0),
        faults: faults + (more.faults ?? 0),
      })
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
    this.#tools = tools
  }

  get tools(): readonly string[] {
    return [...this.#tools.keys()].filter((tool) => tool !== '').toSorted()
  }

  of(tool: string): Blame {
    return this.#tools.get(tool) ?? NONE
  }

  toJSON(): Readonly<Record<string, Blame>> {
    return Object.fromEntries(this.tools.map((tool) => [tool, this.of(tool)]))
  }
}
