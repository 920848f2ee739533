import { expect, it } from 'vitest'
import { metricsPage } from '../../../src/load/results/metrics-server.ts'
import { Recorder } from '../../../src/load/results/recorder.ts'
import { ToolRecorder } from '../../../src/load/results/tool-recorder.ts'

// A page on which one series stands twice is rejected by Prometheus as a whole, and a server
// chooses the names of its tools.
it('writes each series once and keeps hostile names within their line', () => {
  const recorder = new Recorder(() => 0)
  const long = 'x'.repeat(300)
  for (const tool of [`${long}1`, `${long}2`, 'a"b\\c\nd\u202e']) {
    recorder.tools.set(tool, new ToolRecorder(tool))
  }
  const page = metricsPage(recorder)
  const series = page.split('\n').map((line) => line.replace(/ \S+$/, ''))
  const calls = series.filter((line) => line.startsWith('squall_load_calls_total{'))
  expect(calls).toHaveLength(4)
  expect(new Set(calls).size).toBe(4)
  expect(calls).toContain(
    'squall_load_calls_total{tool="a\\"b\\\\c\ufffdd\ufffd",result="success"}',
  )
  expect(page).toContain('squall_load_success_ratio NaN\n')
})
