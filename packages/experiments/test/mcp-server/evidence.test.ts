// part: slow-nightly
import { writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { startSquall } from '../../../../test/support/commands.ts'
import { call, callMessage, startUpstream } from '../../../../test/support/wire.ts'
import { controlFlags, openAgent } from './agent.ts'
import { agentOf, closing, eachOnStage, stage } from './on-stage.ts'
import {
  callTools,
  CALLS,
  FAILING_FIRST,
  makeTraffic,
  REAL_ERRORS,
  RULES,
  until,
} from './traffic.ts'

eachOnStage({ script: FAILING_FIRST })

describe('an agent', () => {
  it('reads in sentences what agents did', async () => {
    const agent = await agentOf()
    await makeTraffic(stage)
    const { data, isError } = await until(
      agent,
      'what_agents_did',
      {},
      ({ data: { findings } }) => findings.length > 0,
    )
    expect(isError).toBe(false)
    expect(data.findings[0]).toMatchObject({ severity: expect.any(String), source: 'agent' })
    expect(data.findings[0].sentence).toMatch(/ (?:work|rest) /)
  })

  it('observes real and injected errors by tool, to the call', async () => {
    const agent = await agentOf()
    await makeTraffic(stage)
    const { data, isError } = await until(agent, 'observe', {}, ({ data: { traffic: all } }) =>
      all.some(
        (each: { tool?: string; calls: number }) => each.tool === 'rest' && each.calls === CALLS,
      ),
    )
    expect(isError).toBe(false)
    expect(data).toMatchObject({ sidecar: stage.squall.admin, armed: true })
    expect(data.traffic).toContainEqual(
      expect.objectContaining({
        tool: 'work',
        calls: CALLS,
        realErrors: REAL_ERRORS,
        injectedErrors: 0,
      }),
    )
    expect(data.traffic).toContainEqual(
      expect.objectContaining({ tool: 'rest', calls: CALLS, realErrors: 0, injectedErrors: 5 }),
    )
    expect(data.traffic[0].upstreamP95Ms).toBeGreaterThan(0)
    expect(data.errors).toContainEqual(
      expect.objectContaining({ tool: 'rest', origin: 'injected', rule: 'flaky-rest', count: 5 }),
    )
    expect(data.errors).toContainEqual(
      expect.objectContaining({ tool: 'work', origin: 'real', count: REAL_ERRORS }),
    )
    // Of a method without a tool.
    await call({ port: stage.squall.port }, { ...callMessage(1, 'x'), method: 'prompts/list' })
    const { text } = await agent.call('observe')
    expect(text).toMatch(/^The \d+(?:\.\d)? s until /m)
    expect(text).toMatch(/method prompts\/list/)
    expect(text).not.toMatch(/tool ,/)
    const narrow = await agent.call('observe', { tool: 'w*', seconds: 900 })
    expect(narrow.data.traffic.map(({ tool }: { tool: string }) => tool)).toEqual(['work'])
  })

  it('gets objectives that the upstream has met, without what faults ended', async () => {
    const agent = await agentOf()
    await makeTraffic(stage)
    const { data } = await until(agent, 'suggest_slo', {}, ({ data: found }) =>
      found?.slos.some(
        ({ tool, indicator }: Record<string, string>) => tool === 'rest' && indicator === 'success',
      ),
    )
    // No fault ended 35 calls, and none of them failed: that shows 90 %, but not 95 %.
    expect(data.slos).toContainEqual(
      expect.objectContaining({
        tool: 'rest',
        indicator: 'success',
        threshold: 90,
        gate: { success: '90%' },
      }),
    )
    expect(data.slos).toContainEqual(
      expect.objectContaining({ tool: 'rest', indicator: 'p95', unit: 'ms' }),
    )
    expect(data.without).toEqual([expect.stringContaining('4 of 40 calls of "work" failed')])
  })

  it('cannot make the server read a Prometheus or a sidecar that nobody has opened', async () => {
    const agent = await agentOf({}, { flags: ['--monitor=http://127.0.0.1:9'] })
    const prometheus = 'http://169.254.169.254/latest'
    expect(await agent.call('suggest_slo', { prometheus })).toMatchObject({
      isError: true,
      text: expect.stringContaining('may not read this Prometheus, only http://127.0.0.1:9'),
    })
    for (const name of ['observe', 'suggest_slo']) {
      expect(await agent.call(name, { sidecar: 'http://127.0.0.1:1' })).toMatchObject({
        isError: true,
        text: expect.stringContaining('this server may use only'),
      })
    }
    expect(await agent.call('suggest_slo', { prometheus: 'http://127.0.0.1:9/' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('cannot be read'),
    })
  })
})

it('cannot send the token of the monitoring to another host by a path', async () => {
  const seen: string[] = []
  const monitor = await startUpstream((req, res) => {
    seen.push(`${req.headers.authorization} ${req.url}`)
    res.writeHead(404).end()
  })
  closing.push(monitor.close)
  const origin = `http://127.0.0.1:${monitor.port}`
  await writeFile(`${stage.directory}/token`, 'a-token')
  const more = [`--monitor=${origin}`, `--monitor-token-file=${stage.directory}/token`]
  const agent = await agentOf({}, { flags: more })
  const { text } = await agent.call('suggest_slo', { prometheus: `${origin}//127.0.0.1:9` })
  expect(text).toContain('responded with status 404')
  expect(seen[0]).toMatch(/^Bearer a-token \/\/127\.0\.0\.1:9\/api\/v1\/query\?/)
  const named = `http://user:password@127.0.0.1:${monitor.port}`
  expect((await agent.call('suggest_slo', { prometheus: named })).isError).toBe(true)
})

it('says that SLOs for latency need full metrics where Prometheus has those of all tools', async () => {
  const monitor = await startUpstream((req, res) => {
    const query = new URL(req.url!, 'http://x').searchParams.get('query')!
    const tool = query.includes('squall_calls_total') ? 'read_file' : '*'
    res.end(
      JSON.stringify({
        data: { resultType: 'vector', result: [{ metric: { tool }, value: [0, '900'] }] },
      }),
    )
  })
  closing.push(monitor.close)
  const prometheus = `http://127.0.0.1:${monitor.port}`
  const agent = await agentOf({}, { flags: [`--monitor=${prometheus}`] })
  const { text, data } = await agent.call('suggest_slo', { prometheus })
  expect(text).toContain('No SLO for latency: the series contain latencies')
  expect(text).toContain('require sidecars with --metrics-detail full')
  expect(JSON.stringify(data)).toContain('--metrics-detail full')
})

describe('what an agent reads', () => {
  it('are the policy, the schemas and the prompts, also about an experiment that does not exist', async () => {
    const { client } = await agentOf({ firstStage: '7%' })
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(
      expect.arrayContaining([
        'squall://policy',
        'squall://schemas/plan/stages',
        'squall://schemas/plan/rules',
      ]),
    )
    const read = async (uri: string): Promise<string> => {
      const { contents } = await client.readResource({ uri })
      return (contents[0] as { text: string }).text
    }
    expect(await read('squall://policy')).toContain('7%')
    expect(JSON.parse(await read('squall://schemas/plan/stages'))).toHaveProperty('items')
    expect(JSON.parse(await read('squall://schemas/plan/rules'))).toHaveProperty('properties.match')
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual([
      'design_experiments',
      'post_mortem',
      'review_tool',
    ])
    const review = await client.getPrompt({ name: 'review_tool', arguments: { tool: 'work"' } })
    expect(JSON.stringify(review)).toContain('There are no past experiments')
    await expect(read('squall://experiments/20260101-000000-abcdef')).rejects.toThrow(/no/)
    await expect(
      client.getPrompt({ name: 'post_mortem', arguments: { id: '../../etc/passwd' } }),
    ).rejects.toThrow()
  })

  it('are faults, problems of rules with their lines, and what rules do to a call', async () => {
    const agent = await agentOf()
    const all = await agent.call('describe_faults')
    expect(all.data.faults.length).toBeGreaterThanOrEqual(15)
    const one = await agent.call('describe_faults', { name: 'delay' })
    expect(one.data.faults[0].example).toContain('delay')
    expect((await agent.call('describe_faults', { name: 'dealy' })).text).toContain('unknown fault')
    const wrong = await agent.call('validate_rules', {
      rules: 'rules:\n  - name: a\n    tool: b\n',
    })
    expect(wrong.data).toMatchObject({ ok: false, problems: [{ line: 2 }, {}] })
    expect((await agent.call('validate_rules', { rules: RULES })).data.ok).toBe(true)
    const { data } = await agent.call('explain_rules', { rules: RULES, tool: 'rest' })
    expect(data.rules).toMatchObject([{ rule: 'flaky-rest', matches: true }])
  })

  it('cannot keep it from disarming the sidecar, for a reason that the sidecar shows', async () => {
    const token = 'an-admin-token-of-enough-length'
    const armed = await startSquall({ experiment: { env: { SQUALL_ADMIN_TOKEN: token } } })
    closing.push(() => armed.close())
    const file = `${armed.directory}/token`
    await writeFile(file, token)
    const flags = await controlFlags(armed)
    const agent = await openAgent({ server: [...flags, `--admin-token-file=${file}`] })
    closing.push(() => agent.close())
    expect(await agent.call('disarm', { reason: 'the pool is full' })).toMatchObject({
      isError: false,
      data: { sidecars: [{ ok: true }] },
    })
    const { data } = await agent.call('list_targets')
    expect(data.sidecars).toMatchObject([
      { armed: false, reasons: [expect.stringContaining('the pool is full')] },
    ])
  })
})

describe('run_impact', () => {
  const impact = (changes: object = {}) => ({
    scenario: 'latency',
    magnitude: 30,
    tools: ['rest'],
    target: `http://127.0.0.1:${stage.squall.port}/mcp`,
    seconds: 2,
    rate: 40,
    ...changes,
  })

  beforeEach(() => callTools(stage, 'work', REAL_ERRORS))

  it('measures a scenario in one call, which a person approves', async () => {
    const agent = await agentOf({}, { approves: true })
    const { data, text } = await agent.call('run_impact', impact())
    expect(text).not.toContain('denied')
    expect(agent.questions).toHaveLength(1)
    expect(agent.questions[0]).toContain('Largest effect: rest waits 30 ms in 20 % of calls')
    expect(data).toMatchObject({ status: 'done', restored: true })
    const [before, during] = data.phases
    expect(before.label).toBe('before')
    expect(during.measured.p95).toBeGreaterThan(30)
    expect(data.summary).toContain('# impact-latency')
    expect((await agent.call('list_experiments')).data.experiments).toMatchObject([
      { id: data.experiment, name: 'impact-latency' },
    ])
  })

  it('waits for an approval where the client cannot ask, with stages up to the share', async () => {
    const agent = await agentOf({ firstStage: '5%' })
    const asked = await agent.call('run_impact', impact({ percent: 45 }))
    expect(asked).toMatchObject({ isError: false, data: { status: 'approval_required' } })
    expect(asked.data.next).toContain(`mcp approve ${asked.data.id} --state-dir `)
    expect(asked.data.digest).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each([
    ['jitter', 200, 'p95', 20],
    ['bandwidth', 1000, 'p95', 20],
    ['loss', undefined, 'errors', 0.05],
    ['blackhole', undefined, 'errors', 0.05],
    ['http_error', 502, 'errors', 0.05],
  ])('measures the scenario %s', async (scenario, magnitude, measure, least) => {
    const agent = await agentOf({ approval: 'none' })
    const { data, text } = await agent.call('run_impact', impact({ scenario, magnitude }))
    expect(data, text).toMatchObject({ status: 'done', restored: true })
    const [before, during] = data.phases
    expect(before.measured.errors).toBe(0)
    expect(during.measured[measure]).toBeGreaterThan(least)
  })

  it.each([
    [{ percent: 90 }, 'above maxPercent'],
    [{ scenario: 'http_error' }, 'does not allow the fault "abort"'],
    [{ seconds: 300 }, 'longer than maxDuration'],
    [{ rate: 500 }, 'above maxRate'],
    [{ tools: ['pay'] }, 'the policy forbids experiments with the tool "pay"'],
    [{ target: 'http://prod.example.com/mcp' }, 'does not allow the target'],
    [{ scenario: 'loss', magnitude: 3 }, 'loss takes no magnitude'],
    [{ magnitude: 70_000 }, 'at most 60000'],
  ])('is bounded by the policy: %j', async (changes, reason) => {
    const policy = {
      faults: ['delay', 'reset'],
      maxDuration: '1m',
      maxRate: '50/s',
      neverTools: ['pay'],
    }
    const agent = await agentOf(policy)
    expect(
      await agent.call('run_impact', impact({ magnitude: undefined, ...changes })),
    ).toMatchObject({
      isError: true,
      text: expect.stringContaining(reason),
    })
  })
})
