// part: slow
import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'
import { mountRules } from './rules-directory.ts'

const opened = closers()

const rule = (name: string, lasts: string): string =>
  `  - name: ${name}\n    ${lasts}\n    faults: [{ abort: { status: 503 } }]\n`

test('the log names expired rules, each once', async () => {
  const brief = `rules:\n${rule('brief', 'for: 1s')}${rule('too', 'for: 1s')}`
  const mounted = await mountRules(`${brief}${rule('old', "until: '2020-01-01T00:00:00Z'")}`)
  opened({ close: () => mounted.remove() })
  const upstream = ['--upstream', 'http://127.0.0.1:9', '--ready-without-upstream']
  const squall = opened(await startSquall(...upstream, '--rules', mounted.directory))
  expect(await squall.logged('rules have expired')).toMatchObject({
    level: 'info',
    count: 2,
    rules: ['brief', 'too'],
  })
  await mounted.swap(`rules:\n${rule('later', 'for: 100ms')}${rule('never', 'percent: 5')}`)
  const isOver = ({ msg }: Readonly<Record<string, unknown>>): boolean =>
    msg === 'rules have expired'
  await expect.poll(() => squall.logs.filter(isOver).length).toBe(2)
  expect(squall.logs.findLast(isOver)).toMatchObject({ count: 1, rules: ['later'] })
})

test.each([
  ['its duration is over', 'for: 500ms', []],
  ['its end is reached', 'until: SOON', []],
  ['the sidecar allows no longer one', 'percent: 100', ['--max-duration', '500ms']],
  ['it pauses', 'for: 500ms\n    repeat: 1h', []],
])('a rule frees the calls that it holds when %s', async (_, lasts, flags) => {
  const held = 'match: { tool: probe }\n    faults: [{ delay: { fixed: 1h } }]\n'
  const soon = new Date(Date.now() + 4_000).toISOString()
  const rules = `rules:\n  - name: brief\n    ${lasts.replace('SOON', `'${soon}'`)}\n    ${held}`
  const setup = opened(await startSquall({ rules, flags }))
  const waiting = setup.text()
  await setup.squall.reaches('squall_active_faults', {}, 1)
  expect(await waiting).toBe('fine')
  expect(await setup.squall.metric('squall_active_faults')).toBe(0)
  expect(await setup.text()).toBe('fine')
})
