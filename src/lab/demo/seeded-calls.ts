import { DEMO_TOOLS } from './demo-tools.ts'

/** A tool call as it goes over the wire. */
export interface ToolCall {
  readonly id: number
  readonly method: 'tools/call'
  readonly params: {
    readonly name: string
    readonly arguments: Readonly<Record<string, string>>
  }
}

const SUBJECTS = ['refunds', 'naïve Bayes', '東京', 'quarterly report', 'line\nbreak', 'São Paulo']

/** The same calls for the same seed. */
export function seededCalls(seed: number, count: number): ToolCall[] {
  const random = generator(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  return Array.from({ length: count }, (_, id) => {
    const { name, argument } = DEMO_TOOLS[below(DEMO_TOOLS.length)]!
    const subject = SUBJECTS[below(SUBJECTS.length)]!
    const text = `${subject} ${below(1000)}`.repeat(1 + below(4))
    return { id, method: 'tools/call', params: { name, arguments: { [argument]: text } } }
  })
}

/** Numbers from 0 to 1 that look random and are the same each time (a Weyl sequence, mixed). */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}
