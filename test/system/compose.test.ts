// part: prometheus
// examples/compose.yaml without containers: its commands as processes, with the files that it
// mounts.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../docs/blocks.ts'
import { type Reader } from '../docs/reader.ts'
import { startTerminal } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { type Prometheus, promtool, startPrometheus } from '../support/cluster.ts'
import { PATIENCE } from './patience.ts'
import { systemTool } from './tools.ts'

interface Service {
  readonly command?: readonly string[]
  readonly volumes?: readonly { readonly source: string; readonly target: string }[]
  readonly ports?: readonly { readonly host_ip: string; readonly published: string }[]
}
type Name = 'server' | 'squall' | 'load' | 'prometheus' | 'grafana'

const run = promisify(execFile)

let reader: Reader
let services: Readonly<Record<Name, Service>>

beforeAll(async () => {
  const program = systemTool('bin/compose-config', 'The reader of Compose files')
  const { stdout } = await run(program, [`${ROOT}examples/compose.yaml`])
  ;({ services } = JSON.parse(stdout) as { services: Record<Name, Service> })
  reader = await startTerminal({ reader: {} })
})

afterAll(() => reader?.close())

/** Where a path within a container is in this project. */
function mounted(service: Name, path: string): string {
  const found = services[service].volumes!.find(({ target }) => `${path}/`.startsWith(`${target}/`))
  return found!.source + path.slice(found!.target.length)
}

it('mounts what is there, and publishes on loopback only', () => {
  const all = Object.values(services)
  const volumes = all.flatMap(({ volumes: each = [] }) => each)
  expect(volumes.length).toBeGreaterThan(6)
  expect(volumes.filter(({ source }) => !existsSync(source))).toEqual([])
  const ports = all.flatMap(({ ports: each = [] }) => each)
  expect(ports.map(({ published }) => published).sort()).toEqual(['15300', '15390', '3001', '9090'])
  expect(new Set(ports.map(({ host_ip }) => host_ip))).toEqual(new Set(['127.0.0.1']))
})

it('gives Grafana the dashboards, and the Prometheus of the file', async () => {
  const provisioning = (path: string): Promise<string> =>
    readFile(mounted('grafana', `/etc/grafana/provisioning/${path}`), 'utf8')
  const { providers } = parse(await provisioning('dashboards/squall.yaml')) as {
    readonly providers: readonly { readonly options: { readonly path: string } }[]
  }
  for (const board of ['overview', 'rules', 'sidecar']) {
    expect(existsSync(mounted('grafana', `${providers[0]!.options.path}/${board}.json`))).toBe(true)
  }
  const { datasources } = parse(await provisioning('datasources/prometheus.yaml')) as {
    readonly datasources: readonly { readonly url: string }[]
  }
  expect(new URL(datasources[0]!.url).host).toBe('prometheus:9090')
})

it('shows injected and real errors in Prometheus', { timeout: 120_000 }, async () => {
  const rules = join(reader.directory, 'rules')
  await cp(mounted('squall', '/etc/squall'), rules, { recursive: true })
  /** A command of the file, for processes of one machine. */
  const commandOf = (service: Name): string =>
    services[service]
      .command!.join(' ')
      .replaceAll(/0\.0\.0\.0|\b(?:server|squall)(?=:\d)/g, '127.0.0.1')
      .replace('/etc/squall', rules)
  await reader.run(commandOf('server'))
  await reader.run(`npx mcp-squall ${commandOf('squall')}`)
  const prometheus = await scrapingAs(mounted('prometheus', '/etc/prometheus/prometheus.yml'))
  try {
    const load = commandOf('load').replace('5m', '20s')
    const { code, text } = await reader.run(`npx mcp-squall ${load}`)
    expect(code, text).toBe(0)
    await eventually(async () => {
      const series = await prometheus.instant(
        'count by (tool, origin) (squall_calls_total{outcome!="ok"} > 0)',
      )
      const found = series.map(({ metric }) => `${metric['tool']} ${metric['origin']}`).sort()
      return found.join() === 'get_weather real,search_docs injected' ? undefined : found.join()
    }, PATIENCE)
    expect((await prometheus.rules()).filter(({ health }) => health === 'err')).toEqual([])
    const up = await prometheus.instant('up{job="squall",namespace="compose",workload="server"}')
    expect(up).toHaveLength(1)
  } finally {
    await prometheus.close()
  }
})

/** Starts Prometheus with a file of the container, whose rules and target are here. */
async function scrapingAs(file: string): Promise<Prometheus> {
  const directory = join(reader.directory, 'prometheus')
  await mkdir(join(directory, 'rules'), { recursive: true })
  const ruleFiles = services.prometheus.volumes!.filter(({ target }) => target.includes('/rules/'))
  for (const { source, target } of ruleFiles) {
    await cp(source, join(directory, 'rules', basename(target)))
  }
  const text = await readFile(file, 'utf8')
  const config = join(directory, 'prometheus.yml')
  await writeFile(config, text.replace('squall:15390', `127.0.0.1:${reader.port(15390)}`))
  await promtool(['check', 'config', config])
  return startPrometheus([], [], '5s', config)
}
