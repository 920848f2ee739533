// part: slow-nightly
import { readFile, writeFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { agentOf, eachOnStage, stage } from './on-stage.ts'
import { FAILING_FIRST, makeTraffic, until } from './traffic.ts'

eachOnStage({ script: FAILING_FIRST })

describe('what to test next', () => {
  it('is ranked by squall experiment next, whose plans run, and learns what is usual', async () => {
    await makeTraffic(stage)
    const args = [
      'experiment',
      'next',
      `--target=http://127.0.0.1:${stage.squall.port}/mcp`,
      `--sidecar=${new URL(stage.squall.admin).host}`,
      `--rules=${relative(process.cwd(), stage.rulesFile)}`,
      `--experiments=${stage.directory}/experiments`,
    ]
    await eventually(async () => {
      const { stdout } = await startProgram([...args, '--json', '--limit=20']).finished()
      return stdout.includes('"tool": "rest"') ? undefined : stdout
    })
    const plans = `${stage.directory}/plans`
    const { stdout, code } = await startProgram([
      ...args,
      '--limit=3',
      `--plans=${plans}`,
    ]).finished()
    expect(code).toBe(0)
    expect(stdout).toMatch(/^1\. (?:work|rest), delay \(1\.00\): Do its callers tolerate/)
    expect(stdout).toContain('never tested: +1.00')
    expect(stdout).toContain(`squall experiment run ${plans}/1-slow.yaml`)
    const valid = await startProgram(['experiment', 'validate', `${plans}/1-slow.yaml`]).finished()
    expect(valid).toMatchObject({ code: 0 })
    expect(await readFile(`${plans}/1-slow.yaml`, 'utf8')).toContain(
      `rulesFile: ${stage.rulesFile}`,
    )
    const learned = await readFile(`${stage.directory}/experiments/baselines.json`, 'utf8')
    expect(Object.keys((JSON.parse(learned) as { targets: object }).targets)).toEqual([
      `http://127.0.0.1:${stage.squall.port}/mcp`,
    ])
    expect(learned).toMatch(/"bytes": [1-9]/)
    await writeFile(
      `${stage.directory}/experiments/baselines.json`,
      '{"schema":"squall.baselines/1"',
    )
    const broken = await startProgram(args).finished()
    expect(broken).toMatchObject({ code: 1 })
    expect(broken.stderr).toContain('baselines.json: it is not a baseline file')
  })

  it('is ranked by what_next, within the policy, with plans that are accepted', async () => {
    const policy = { faults: ['delay', 'hang'], neverTools: ['rest'], maxPercent: '40%' }
    const agent = await agentOf(policy)
    await makeTraffic(stage)
    const target = `http://127.0.0.1:${stage.squall.port}/mcp`
    const { data } = await until(agent, 'what_next', { target }, ({ isError }) => !isError)
    const { ranks } = data as { ranks: readonly { tool: string; fault: string; plan: string }[] }
    expect(ranks.map(({ tool, fault }) => `${tool} ${fault}`)).toEqual(['work delay', 'work hang'])
    expect(ranks[0]!.plan).toContain('- 40%')
    await writeFile(stage.rulesFile, 'rules: []\n')
    await eventually(async () => {
      const { isError, text } = await agent.call('propose_experiment', { plan: ranks[0]!.plan })
      return isError ? text : undefined
    })
  })

  it('says what is missing when the sidecar cannot be read', async () => {
    const args = [
      'experiment',
      'next',
      '--target=http://127.0.0.1:1/mcp',
      '--sidecar=127.0.0.1:65531',
    ]
    const { code, stderr } = await startProgram(args).finished()
    expect(code).toBe(1)
    expect(stderr).toContain('the sidecar at 127.0.0.1:65531 cannot be read: connection refused')
    const label = await startProgram([...args, '--label=a}b=shop']).finished()
    expect(label).toMatchObject({ code: 2 })
    expect(label.stderr).toContain('must begin with a label name')
  })
})
