import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'
import { failing } from './rules-directory.ts'

const opened = closers()
const SQUALL_ADMIN_TOKEN = 'a-token-of-the-temporary-faults'
const ABORT = { name: 'gone', match: { tool: 'probe' }, for: '1h', faults: [abort('added')] }

function abort(toolError: string): object {
  return { abort: { toolError } }
}

async function start(rules?: string, ...flags: readonly string[]): Promise<RuledSquall> {
  return opened(await startSquall({ rules, flags, env: { SQUALL_ADMIN_TOKEN } }))
}

/** Asks `/api/faults`; returns the status with the JSON. */
async function ask({ squall }: RuledSquall, method: string, body?: unknown, token?: string) {
  const response = await fetch(`${squall.admin}/api/faults`, {
    method,
    headers: {
      authorization: `Bearer ${token ?? SQUALL_ADMIN_TOKEN}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, ...((await response.json()) as object) }
}

test('the next call has an added fault, and none after its removal', async () => {
  const setup = await start()
  expect(await setup.text()).toBe('fine')
  const fault = { name: 'gone', temporary: true, faults: ['abort'], percent: 100, phase: 'on' }
  expect(await ask(setup, 'POST', ABORT)).toMatchObject({ status: 200, fault })
  expect(await setup.text()).toBe('added')
  expect(await setup.text('other')).toBe('fine')
  expect(await ask(setup, 'GET')).toMatchObject({
    count: 1,
    faults: [{ ...fault, sampled: 1, text: expect.stringContaining('tool: probe') as unknown }],
  })
  const state = (await (await fetch(`${setup.squall.admin}/api/state`)).json()) as object
  expect(state).toMatchObject({ rules: { count: 0, temporary: 1 } })
  expect(await ask(setup, 'DELETE', { name: 'gone' })).toMatchObject({ status: 200, removed: 1 })
  expect(await setup.text()).toBe('fine')
  const change = (done: string) => `a temporary fault was ${done} on the admin port`
  expect(await setup.squall.logged(change('added'))).toMatchObject({
    name: 'gone',
    from: '127.0.0.1',
  })
  expect(await setup.squall.logged(change('removed'))).toMatchObject({ name: 'gone' })
  const labels = { rule: 'gone', result: 'injected' }
  expect(await setup.squall.metric('squall_rule_evaluations_total', labels)).toBe(1)
})

test('a fault ends at its time, and frees the call that waits for it', async () => {
  const setup = await start()
  await ask(setup, 'POST', { for: '300ms', faults: [{ delay: { fixed: '50s' } }] })
  const waiting = setup.text()
  expect(await setup.squall.logged('rules have expired')).toMatchObject({ rules: ['added-1'] })
  expect(await waiting).toBe('fine')
  expect(await setup.text()).toBe('fine')
  expect(await ask(setup, 'GET')).toMatchObject({ count: 0, faults: [] })
})

test('a reload keeps temporary faults and their counts, and a restart loses them', async () => {
  const setup = await start(failing('first', 'other'))
  await ask(setup, 'POST', { ...ABORT, times: 2 })
  expect(await setup.text()).toBe('added')
  const lines = setup.squall.logs.length
  await setup.mounted.swap(failing('second', 'other'))
  await setup.squall.logged('active rules', lines)
  expect(await setup.text('other')).toBe('second')
  expect(await setup.text()).toBe('added')
  expect(await setup.text(), 'the third call, of `times: 2`').toBe('fine')
  const again = await start(failing('second', 'other'))
  expect(await ask(again, 'GET')).toMatchObject({ count: 0 })
})

test('a file may bring a rule of the same name, which stays when the fault is removed', async () => {
  const setup = await start(failing('first', 'other'))
  await ask(setup, 'POST', ABORT)
  const lines = setup.squall.logs.length
  await setup.mounted.swap(failing('file').replace('name: file', 'name: gone'))
  await setup.squall.logged('active rules', lines)
  expect(await setup.text()).toBe('added')
  expect(await ask(setup, 'DELETE', { name: 'gone' })).toMatchObject({ removed: 1 })
  expect(await setup.text()).toBe('file')
  const labels = { rule: 'gone', result: 'injected' }
  expect(await setup.squall.metric('squall_rule_evaluations_total', labels)).toBe(2)
  expect(await ask(setup, 'DELETE', { name: 'gone' })).toMatchObject({ status: 404 })
})

test('temporary faults precede the rules of the file, in the order of their adding', async () => {
  const setup = await start(failing('file'))
  expect(await setup.text()).toBe('file')
  await ask(setup, 'POST', ABORT)
  await ask(setup, 'POST', { ...ABORT, name: 'later', faults: [abort('later')] })
  expect(await setup.text()).toBe('added')
  await ask(setup, 'DELETE', { name: 'gone' })
  expect(await setup.text()).toBe('later')
  expect(await ask(setup, 'DELETE', { all: true })).toMatchObject({ removed: 1 })
  expect(await setup.text()).toBe('file')
})

test('faults of HTTP exchanges leave those of the file active, and precede them', async () => {
  const setup = await start(
    'rules: [{ name: f, match: { http: { path: "*" } }, faults: [abort: { status: 418 }] }]',
  )
  const added = (path: string) => ({
    match: { http: { path } },
    for: '1h',
    faults: [{ abort: { status: 503 } }],
  })
  await ask(setup, 'POST', added('/none'))
  expect(await setup.ask('probe')).toMatchObject({ status: 418 })
  await ask(setup, 'POST', added('*'))
  expect(await setup.ask('probe')).toMatchObject({ status: 503 })
})

test('disarming ends temporary faults, and none can be added meanwhile', async () => {
  const setup = await start()
  await ask(setup, 'POST', ABORT)
  const headers = { authorization: `Bearer ${SQUALL_ADMIN_TOKEN}` }
  await fetch(`${setup.squall.admin}/api/disarm`, { method: 'POST', headers })
  expect(await setup.text()).toBe('fine')
  const more = await ask(setup, 'POST', { ...ABORT, name: 'more' })
  expect(more).toMatchObject({ status: 409, reasons: [{ by: 'operator' }] })
  await fetch(`${setup.squall.admin}/api/arm`, { method: 'POST', headers })
  expect(await setup.text()).toBe('added')
})

test('the guard of the sidecar holds for temporary faults', async () => {
  const production = await start(undefined, '--environment', 'production')
  expect(await ask(production, 'POST', ABORT)).toMatchObject({
    status: 409,
    reasons: [{ by: 'environment' }],
  })
  const limited = await start(undefined, '--allow-faults', 'delay', '--deny-tools', 'pay')
  expect(await ask(limited, 'POST', ABORT)).toMatchObject({
    status: 409,
    error: expect.stringContaining('--allow-faults') as unknown,
  })
  await ask(limited, 'POST', { for: '1h', faults: [{ delay: { fixed: '50s' } }] })
  expect(await limited.text('pay')).toBe('fine')
})

test.each<[string, unknown, RegExp]>([
  ['without an end', { faults: ['hang'] }, /requires `for`, such as "30s"/],
  ['with an end too far', { ...ABORT, for: '25h' }, /ends in more than/],
  ['that is over', { ...ABORT, for: undefined, until: '2020-01-01T00:00:00Z' }, /is in the past/],
  ['with an unknown key', { ...ABORT, percnt: 3 }, /did you mean `percent`/],
  ['with an invalid fault', { ...ABORT, faults: [{ abort: {} }] }, /faults\[0\]\.abort/],
  ['that is no object', ['abort'], /must be a rule/],
  ['with a repeated fault and no end', { ...ABORT, repeat: '2h' }, /set `until`/],
])('a fault %s is rejected with the reason', async (_, body, error) => {
  const setup = await start()
  const text = expect.stringMatching(error) as unknown
  expect(await ask(setup, 'POST', body)).toMatchObject({ status: 400, error: text })
  expect(await ask(setup, 'GET')).toMatchObject({ count: 0 })
})

test('changes need the token, a free name, and a name that there is', async () => {
  const setup = await start(failing('file'))
  expect(await ask(setup, 'POST', ABORT, 'another-token-than-the-real-one')).toMatchObject({
    status: 401,
  })
  expect(await ask(setup, 'POST', { ...ABORT, name: 'file' })).toMatchObject({ status: 409 })
  expect(await ask(setup, 'DELETE', { name: 'file' })).toMatchObject({ status: 404 })
  expect(await ask(setup, 'DELETE', {})).toMatchObject({ status: 400 })
  const open = opened(await startSquall({ rules: failing('file') }))
  expect(await ask(open, 'POST', ABORT)).toMatchObject({ status: 403 })
})

test('a fault without a name gets the first one that is free', async () => {
  const setup = await start()
  const unnamed = { match: { http: { path: '/none' } }, for: '1h', faults: ['hang'] }
  for (const name of ['added-1', 'added-2', 'added-3']) {
    expect(await ask(setup, 'POST', unnamed)).toMatchObject({ fault: { name } })
  }
  expect(await ask(setup, 'DELETE', { name: 'added-2' })).toMatchObject({ removed: 1 })
  expect(await ask(setup, 'POST', unnamed)).toMatchObject({ fault: { name: 'added-2' } })
})
