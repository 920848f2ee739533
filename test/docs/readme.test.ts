// part: slow
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { startTerminal } from '../support/commands.ts'
import { follow } from './page-run.ts'

it('the README shows injected errors beside real ones', { timeout: 60_000 }, async () => {
  const reader = await startTerminal({ reader: {} })
  onTestFinished(() => reader.close())
  const { commands, wrong } = await follow(reader, 'README.md')
  expect(wrong).toEqual([])
  expect(commands).toBe(4)
  await eventually(async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${reader.port(15390)}/metrics`)).text()
    const errors = (tool: string, origin: string): boolean =>
      new RegExp(
        `^squall_calls_total{outcome="(?!ok").*origin="${origin}".*tool="${tool}"} [1-9]`,
        'm',
      ).test(metrics)
    return errors('search_docs', 'injected') && errors('get_weather', 'real') ? undefined : metrics
  })
})
