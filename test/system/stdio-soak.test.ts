// part: soak
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Random, seedOfRun } from '../support/random.ts'
import { rulesFile, stdioClient, throughSquall } from '../support/commands.ts'

const SECONDS = Number(process.env['SQUALL_STDIO_SOAK_SECONDS'] ?? 20)
const WORKERS = 8
/** A short run is too noisy for the real bound. */
const GROWTH = SECONDS < 120 ? 1.4 : 1.05

/** Each call shows by its result whether its fault, and no other, was injected. */
const RULES = rulesFile(`rules:
- { name: late, match: { args: { /text: late } }, faults: [{ delay: { fixed: 20ms } }] }
- { name: error, match: { args: { /text: error } }, faults: [{ abort: { toolError: broken } }] }
- { name: cut, match: { args: { /text: cut } }, faults: [{ truncate: { content: { chars: 2 } } }] }
- { name: noise, match: { args: { /text: noise } }, faults: [{ process: { print: Listening } }] }
`)
const FAULTED: Readonly<Record<string, { readonly text: string; readonly isError?: true }>> = {
  late: { text: 'late' },
  error: { text: 'broken', isError: true },
  cut: { text: 'cu' },
  noise: { text: 'noise' },
}

/** Returns the resident memory of a process in bytes. */
function rss(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

test(
  `after ${SECONDS} s of calls by stdio, all results are right and memory is flat`,
  { timeout: (SECONDS + 60) * 1000 },
  async () => {
    const seed = seedOfRun()
    const args = ['--rules', RULES, '--log-injections', 'off']
    const client = await stdioClient('v1', throughSquall(args))
    const started = performance.now()
    const share = (): number => (performance.now() - started) / 1000 / SECONDS
    let calls = 0
    const worker = async (index: number): Promise<void> => {
      const random = new Random(seed + index)
      while (share() < 1) {
        const large = 'ü'.repeat(random.int(1, random.chance(0.05) ? 200_000 : 500))
        const text = random.chance(0.3) ? random.pick(Object.keys(FAULTED)) : `${calls} ${large}`
        const { text: echoed, ...flags } = FAULTED[text] ?? { text }
        const result = await client.call('echo', { text })
        expect(result).toEqual({ content: [{ type: 'text', text: echoed }], ...flags })
        calls++
      }
    }
    const warm: number[] = []
    const late: number[] = []
    const watch = setInterval(() => {
      if (share() > 0.3 && share() < 0.5) warm.push(rss(client.pid))
      if (share() > 0.8) late.push(rss(client.pid))
    }, 100)
    try {
      await Promise.all(Array.from({ length: WORKERS }, (_, index) => worker(index)))
    } finally {
      clearInterval(watch)
      await client.close()
    }
    // The lowest value: above it is garbage that was not collected yet.
    const [before, after] = [Math.min(...warm), Math.min(...late)]
    const mib = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1)
    console.log(`seed ${seed}, ${calls} calls; resident ${mib(before)} → ${mib(after)} MiB`)
    expect(calls).toBeGreaterThan(SECONDS * 20)
    expect(after / before).toBeLessThan(GROWTH)
  },
)
