// part: clients
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { rulesFile, throughSquall } from '../support/commands.ts'
import { openClient, startUpstream } from '../support/wire.ts'
import { systemTool } from './tools.ts'

const opened = closers()
const SERVER = fileURLToPath(new URL('./python_traced_server.py', import.meta.url))
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

it('the span of Squall is a sibling of that of an instrumented Python server', async () => {
  const { endpoint, spans } = opened(await startUpstream('collector'))
  const python = systemTool('venv/bin/python', 'The Python SDK')
  const exporting = [`OTEL_EXPORTER_OTLP_ENDPOINT=${endpoint}`, 'OTEL_BSP_SCHEDULE_DELAY=50']
  const command = throughSquall(['--rules', rulesFile('rules: []')], [python, SERVER, endpoint])
  const url = JSON.stringify(['/usr/bin/env', ...exporting, ...command])
  const client = opened(await openClient('v1')(url, 'stdio'))
  const meta = { traceparent: `00-${TRACE}-${PARENT}-01` }
  await client.call('echo', { message: 'hello' }, { meta })
  const find = (service: string) =>
    spans.find((span) => span.service === service && span.name === 'tools/call echo')
  await eventually(() => (find('squall') && find('tools') ? undefined : 'a span is missing'))
  for (const service of ['squall', 'tools']) {
    expect(find(service)).toMatchObject({ trace: TRACE, parent: PARENT })
  }
})
