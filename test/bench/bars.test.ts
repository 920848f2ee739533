import { describe, expect, it } from 'vitest'
import { benchModule, measured } from './bench-modules.ts'

const { TARGETS, judged, verdictTable } = await benchModule('bars.mjs')
const { SECTIONS } = await benchModule('sections/index.mjs')
const { SKETCHES } = await benchModule('charts.mjs')
const { peersNamed } = await benchModule('peers/index.mjs')

describe('the targets of the bench', () => {
  it('are judged by the peers they are about, on the bar itself still met', () => {
    const rows = [measured('squall', [30, 30]), measured('envoy', [60, 60])]
    const [verdict, ...others] = judged('small', rows)
    expect(others).toEqual([])
    expect(verdict).toMatchObject({ target: '≤ 0.5 ×', measured: '0.50 ×', met: true })
    const [missed] = judged('small', [measured('squall', [30.4]), measured('envoy', [60])])
    expect(missed!.met).toBe(false)
    expect(verdictTable([verdict!, missed!])).toMatch(/0\.50 × \| +met \|\n.*\*\*missed\*\* \|$/)
  })

  it('ask for more where more is better', () => {
    const speed = (callsPerSecond: number): boolean =>
      judged('stream10m', [
        measured('squall', [1], { callsPerSecond, rss: 100 }),
        measured('socket-pipe', [1], { callsPerSecond: 100 }),
      ]).find(({ what }) => what.includes('throughput'))!.met
    expect([speed(80), speed(79), speed(300)]).toEqual([true, false, true])
  })

  it('judge latency by what is added to that of no proxy', () => {
    const rows = [
      measured('direct', [undefined], { p99Ms: 0.5 }),
      measured('squall', [1], { p99Ms: 0.9 }),
    ]
    expect(judged('half-load', rows)).toMatchObject([{ measured: '0.40 ms', met: false }])
  })

  it('are not met by what was not measured', () => {
    const closed = judged('idle', [{ name: 'squall', kibEach: 1, closed: 3 }])
    expect(closed).toMatchObject([{ measured: 'nothing', met: false }])
    const held = judged('idle', [{ name: 'squall', kibEach: 1, closed: 0 }])
    expect(held).toMatchObject([{ measured: '1.0 KiB', met: true }])
  })

  it('say nothing of peers that did not take part', () => {
    expect(judged('small', [measured('squall', [30])])).toEqual([])
    expect(verdictTable([])).toBe('')
  })

  it('are all about peers of a section that runs, and so are the pictures', () => {
    const sections = new Map(SECTIONS.map(({ name, peers }) => [name, peers]))
    for (const { section, peers } of TARGETS) {
      expect(sections.get(section), section).toEqual(expect.arrayContaining([...peers]))
    }
    for (const { section } of SKETCHES) expect(sections.has(section), section).toBe(true)
    for (const { peers } of SECTIONS) expect(peersNamed(peers)).toHaveLength(peers.length)
    const files = SKETCHES.map(({ file }) => file)
    expect(new Set(files).size).toBe(files.length)
  })
})
