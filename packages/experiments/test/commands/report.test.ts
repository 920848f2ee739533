import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStage } from '../../src/demo/stage.ts'
import { sampleRuns } from '../report/sample-runs.ts'
import { startProgram } from '../../../../test/support/commands.ts'

let directory: string
let file: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-report-'))
  file = join(directory, 'calm.json')
  await writeFile(file, JSON.stringify((await sampleRuns(200)).plain))
})

afterAll(() => rm(directory, { recursive: true, force: true }))

describe('squall load report', () => {
  it('write results beside each other, under the names that they are given', async () => {
    const out = join(directory, 'out.html')
    const args = ['load', 'report', file, file, '--name', 'before', '--title', 'A day', '-o', out]
    expect(await startProgram(args, {}, { here: true })).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
    const html = await readFile(out, 'utf8')
    expect(html).toContain('<title>A day · Squall</title>')
    expect(html).toContain('<h2>before</h2>')
    expect(html).toContain('<h2>calm</h2>')
    const { code, stdout } = await startProgram(
      ['load', 'report', '--markdown', file],
      {},
      { here: true },
    )
    expect(code).toBe(0)
    expect(stdout).toMatch(/^# Load report\n/)
  })

  it('a report that cannot be written is a failure, and no wrong command line', async () => {
    const out = join(directory, 'missing', 'out.html')
    const args = ['load', 'report', file, '-o', out]
    const { code, stdout, stderr } = await startProgram(args, {}, { here: true })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('out.html" cannot be written (no such file or directory); check its')
  })

  it('reads results that begin with a BOM', async () => {
    const marked = join(directory, 'marked.json')
    await writeFile(marked, `\ufeff${await readFile(file, 'utf8')}`)
    const args = ['load', 'report', '--markdown', marked]
    expect((await startProgram(args, {}, { here: true })).code).toBe(0)
  })

  it('is what squall load writes by --report', async () => {
    const stage = await openStage('0.0.0')
    try {
      const target = stage.target.url.href
      const report = join(directory, 'load.html')
      const out = join(directory, 'load.json')
      const args = [
        'load',
        '--target',
        target,
        '--task-count',
        '5',
        '--report',
        report,
        '--out',
        out,
      ]
      expect(await startProgram([...args, '--json'], {}, { here: true })).toMatchObject({
        code: 0,
        stderr: '',
      })
      const again = join(directory, 'again.html')
      const named = ['--name', 'squall-demo-server 1.0.0', '-o', again]
      expect((await startProgram(['load', 'report', out, ...named], {}, { here: true })).code).toBe(
        0,
      )
      const html = await readFile(report, 'utf8')
      expect(html).toContain('All 5 calls succeeded.')
      expect(await readFile(again, 'utf8')).toBe(html)
    } finally {
      await stage.close()
    }
  })

  it.each([
    [[], 'squall: no results to report; specify files written by squall load --out\n'],
    [
      ['no.json'],
      'squall: report: "no.json" cannot be read (no such file or directory); check the path and its permissions\n',
    ],
    [
      ['FILE', '--name', 'a', '--name', 'b'],
      'squall: got 2 --name values for 1 files; set --name once for each file, in the same order\n',
    ],
    [
      ['BROKEN'],
      'squall: report: BROKEN is not a valid squall load result; pass files written by squall load --out\n',
    ],
    [
      ['WRONG'],
      'squall: report: WRONG is not a valid squall load result; pass files written by squall load --out\n',
    ],
  ])('refuse %j in one line', async (args, line) => {
    const broken = join(directory, 'broken.json')
    const wrong = join(directory, 'wrong.json')
    await writeFile(broken, '{}')
    const result = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
    await writeFile(wrong, JSON.stringify({ ...result, indicators: { tcsr: '<b>' } }))
    const names: Readonly<Record<string, string>> = { FILE: file, BROKEN: broken, WRONG: wrong }
    const come = await startProgram(
      ['load', 'report', ...args.map((arg) => names[arg] ?? arg)],
      {},
      { here: true },
    )
    const stderr = line.replace('BROKEN', broken).replace('WRONG', wrong)
    expect(come).toEqual({ code: 2, stdout: '', stderr })
  })
})
