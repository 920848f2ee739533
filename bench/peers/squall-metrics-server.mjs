// Squall as it is built, with its metrics or with telemetry that does nothing: what counting costs
// is the difference. There is no such switch in the program. node squall-metrics-server.mjs MAIN.js
// on|off --listen … --upstream …
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [main, metrics, ...flags] = process.argv.slice(2)
// The modules that the program was bundled from.
const modules = pathToFileURL(`${join(dirname(main), '../../build/js')}/`)
/** @param {string} path */
const built = (path) => import(new URL(path, modules).href)

await built('src/cli/settle-memory.js')
const { parseAmong } = await built('src/cli/flags/command-parser.js')
const { RUN } = await built('src/cli/commands/run.js')
const { Sidecar } = await built('src/listener/sidecar.js')
const { createLogger } = await built('src/telemetry/log.js')
const { Metrics } = await built('src/telemetry/metrics.js')

const nothing = () => undefined
const off = {
  call: nothing,
  http: nothing,
  unclassified: nothing,
  rejected: nothing,
  overhead: nothing,
  gauge: nothing,
  evicted: nothing,
  injected: nothing,
  reloaded: nothing,
  guardTripped: nothing,
}

const { request } = parseAmong([RUN], ['run', ...flags], {}, '0.0.0')
const logger = createLogger({ level: request.logLevel, format: request.logFormat })
const telemetry = metrics === 'off' ? off : new Metrics({ version: '0.0.0' })
const sidecar = new Sidecar(request, telemetry, logger)
await sidecar.listen()
process.once('SIGTERM', () => void sidecar.close().then(() => process.exit(0)))
