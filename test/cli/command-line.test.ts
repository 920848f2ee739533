import { describe, expect, it } from 'vitest'
import { type Environment, namedFlags } from '../../src/base/flags/flag.ts'
import { RUN_FLAGS, type RunOptions } from '../../src/sidecar/run-options.ts'
import { asked, parseCommandLine } from '../support/commands/command-line.ts'
import { UsageError } from '../../src/base/flags/usage-error.ts'

function options(args: string, env: Environment = {}): RunOptions {
  const words = args === '' ? [] : args.split(' ')
  return asked(['run', ...words], env) as RunOptions
}

function complaint(args: readonly string[], env: Environment = {}): UsageError {
  try {
    parseCommandLine(args, env, '1.2.3')
  } catch (error) {
    if (error instanceof UsageError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

const DB = { text: 'db:5432', host: 'db', port: 5432, range: undefined }

describe('squall run', () => {
  it('has defaults for everything', () => {
    expect(options('')).toEqual({
      appProbes: [],
      publicUrl: undefined,
      pairs: [
        {
          listen: { kind: 'tcp', host: '127.0.0.1', port: 15300 },
          upstream: { kind: 'tcp', tls: false, host: '127.0.0.1', port: 3000 },
        },
      ],
      admin: { kind: 'tcp', host: '127.0.0.1', port: 15390 },
      adminAccess: { hosts: expect.any(Array) as unknown },
      tasks: {
        by: ['header', 'meta', 'trace', 'session', 'client'],
        header: 'x-task-id',
        meta: undefined,
        window: 30_000,
        maxRetries: 3,
      },
      outbound: [],
      outboundTls: {},
      upstreamReuse: true,
      listenTls: undefined,
      upstreamTls: {},
      upstreamInsecure: false,
      trustMarkers: false,
      rules: expect.any(Object),
      readyWithoutUpstream: false,
      strict: false,
      maxHeaderSize: 65_536,
      maxBody: 4_194_304,
      maxConnections: 10_000,
      maxUpstreamConnections: 10_000,
      maxInFlight: 20_000,
      maxSessions: 10_000,
      headerTimeout: 60_000,
      bodyTimeout: 300_000,
      holdTimeout: 120_000,
      inFlightTtl: 600_000,
      connectTimeout: 5_000,
      upstreamIdle: 3_000,
      clientKeepalive: 600_000,
      drainTimeout: 30_000,
      engine: 'fast',
      metricsDetail: 'basic',
      logLevel: 'info',
      logFormat: 'auto',
      errorMessages: 'redacted',
      callLog: undefined,
      callLogSize: 104_857_600,
      logIds: 'full',
      logInjections: 'all',
      tape: undefined,
      tapeForce: false,
      tapeSize: 268_435_456,
      tapeKeepSecrets: false,
      tapeRedact: [],
      traceUrl: undefined,
      tracing: {},
    })
  })

  it('takes every option', () => {
    const given = options(
      '--listen :1 --listen unix:/l --upstream https://a --upstream unix:/u --admin off ' +
        '--tls-cert c --tls-key k --upstream-ca uca --upstream-cert uc --upstream-key uk ' +
        '--upstream-servername s.example --ready-without-upstream --strict --max-header-size 1KiB ' +
        '--max-body 2KiB --max-connections 3 --max-upstream-connections 4 --max-in-flight 5 ' +
        '--max-sessions 6 --header-timeout 7ms --body-timeout 8ms --hold-timeout 13ms --in-flight-ttl 9ms ' +
        '--connect-timeout 10ms --upstream-idle 11ms --client-keepalive 12ms --drain-timeout 0s ' +
        '--public-url https://GW.example:443/mcp/ --upstream-reuse never --engine standard --metrics-detail full --log-level debug --log-format pretty --log-ids hash --log-injections sample --error-messages off --call-log - --call-log-size 8MiB --outbound :7=db:5432 --tasks=false ' +
        '--tape t --tape-force --tape-size 2MiB --tape-keep-secrets --tape-redact /params/arguments/card ' +
        '--trace-injected --trace-session-ids --trace-url https://t.example/{trace}',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' },
    )
    expect(given).toEqual({
      appProbes: [],
      publicUrl: 'https://gw.example/mcp',
      pairs: [
        {
          listen: { kind: 'tcp', host: '::', port: 1 },
          upstream: { kind: 'tcp', tls: true, host: 'a', port: 443 },
        },
        { listen: { kind: 'unix', path: '/l' }, upstream: { kind: 'unix', path: '/u' } },
      ],
      admin: undefined,
      adminAccess: { hosts: [] },
      outbound: [
        { listen: { kind: 'tcp', host: '::', port: 7 }, targets: [DB], isCaptured: false },
      ],
      outboundTls: {},
      upstreamReuse: false,
      listenTls: { cert: 'c', key: 'k' },
      upstreamTls: { ca: 'uca', cert: 'uc', key: 'uk' },
      upstreamServername: 's.example',
      upstreamInsecure: false,
      trustMarkers: false,
      rules: expect.any(Object),
      readyWithoutUpstream: true,
      strict: true,
      maxHeaderSize: 1024,
      maxBody: 2048,
      maxConnections: 3,
      maxUpstreamConnections: 4,
      maxInFlight: 5,
      maxSessions: 6,
      headerTimeout: 7,
      bodyTimeout: 8,
      holdTimeout: 13,
      inFlightTtl: 9,
      connectTimeout: 10,
      upstreamIdle: 11,
      clientKeepalive: 12,
      drainTimeout: 0,
      engine: 'standard',
      metricsDetail: 'full',
      logLevel: 'debug',
      logFormat: 'pretty',
      errorMessages: 'off',
      callLog: '-',
      callLogSize: 8_388_608,
      logIds: 'hash',
      logInjections: 'sample',
      tape: {
        path: 't',
        force: true,
        maxBytes: 2_097_152,
        keepSecrets: true,
        redact: ['/params/arguments/card'],
      },
      tapeForce: true,
      tapeSize: 2_097_152,
      tapeKeepSecrets: true,
      tapeRedact: ['/params/arguments/card'],
      traceUrl: 'https://t.example/{trace}',
      tracing: {
        spans: {
          url: 'http://collector:4318/v1/traces',
          isJson: false,
          followsParent: true,
          injected: true,
          sessionIds: true,
          maxWaiting: 2048,
          batch: 128,
        },
        warnings: [],
      },
    })
  })

  it('gives options that cannot be changed', () => {
    const given = options('')
    expect(Object.isFrozen(given)).toBe(true)
    expect(Object.isFrozen(given.pairs)).toBe(true)
    expect(Object.isFrozen(given.pairs[0]?.upstream)).toBe(true)
  })

  it('reads each option from the environment too', () => {
    const env = {
      SQUALL_LISTEN: '127.0.0.1:1, 127.0.0.1:2',
      SQUALL_UPSTREAM: 'https://a,http://b',
      SQUALL_UPSTREAM_INSECURE: 'true',
      SQUALL_STRICT: '1',
      SQUALL_READY_WITHOUT_UPSTREAM: 'false',
      SQUALL_MAX_HEADER_SIZE: '8KiB',
      SQUALL_LOG_FORMAT: 'pretty',
      SQUALL_LOG_LEVEL: '',
      SQUALL_PORT: 'tcp://10.0.0.1:80',
    }
    const given = options('', env)
    const hosts = given.pairs.map(({ upstream }) => upstream.kind === 'tcp' && upstream.host)
    expect(hosts).toEqual(['a', 'b'])
    expect(given.upstreamInsecure).toBe(true)
    expect(given).toMatchObject({
      strict: true,
      readyWithoutUpstream: false,
      maxHeaderSize: 8192,
      logFormat: 'pretty',
      logLevel: 'info',
    })
  })

  it('lets the command line win, and its last word', () => {
    const given = options('--max-header-size 2KiB --max-header-size 3KiB --strict', {
      SQUALL_MAX_HEADER_SIZE: 'nonsense',
      SQUALL_STRICT: 'false',
    })
    expect(given).toMatchObject({ maxHeaderSize: 3072, strict: true })
  })

  it.each([
    ['--lisen x', 'UNKNOWN_OPTION', 'unknown option "--lisen"; did you mean --listen?'],
    ['--token=hunter2', 'UNKNOWN_OPTION', 'unknown option "--token"; see squall run --help'],
    [
      '--strict=false',
      'UNEXPECTED_ARGUMENT',
      '--strict takes no value; use --strict without a value',
    ],
    ['--listen', 'MISSING_VALUE', '--listen requires a value; see squall run --help'],
    ['extra', 'UNEXPECTED_ARGUMENT', 'unexpected argument "extra"; see squall run --help'],
    [
      '--max-header-size 64KB',
      'INVALID_VALUE',
      '--max-header-size: "64KB" is not a valid size; use a number of bytes or an integer with a unit, such as 1024, 64KiB or 4MB',
    ],
    [
      '--max-in-flight 0',
      'INVALID_VALUE',
      '--max-in-flight: "0" is out of range; use 1 to 10000000',
    ],
    [
      '--connect-timeout 0s',
      'INVALID_VALUE',
      '--connect-timeout: "0s" is out of range; use 1ms to 1d',
    ],
    [
      '--log-level loud',
      'INVALID_VALUE',
      '--log-level: "loud" is not supported; use one of debug, info, warn, error',
    ],
    [
      '--listen :1 --listen :2',
      'INVALID_COMBINATION',
      '--listen has 2 addresses and --upstream 1; pass one --upstream for each --listen, in the same order',
    ],
    [
      '--listen :3000',
      'LOOP',
      '--upstream http://127.0.0.1:3000 is the address of --listen [::]:3000; point --upstream at your MCP server',
    ],
    [
      '--upstream http://localhost:15390',
      'LOOP',
      '--upstream http://localhost:15390 is the address of --admin 127.0.0.1:15390; point --upstream at your MCP server',
    ],
    [
      '--admin :15300',
      'INVALID_COMBINATION',
      '--admin: [::]:15300 is already used by --listen 127.0.0.1:15300; use another port or path',
    ],
    ['--tls-cert c', 'INVALID_COMBINATION', '--tls-cert has no effect alone; add --tls-key'],
    [
      '--upstream-key k',
      'INVALID_COMBINATION',
      '--upstream-key has no effect alone; add --upstream-cert',
    ],
    [
      '--upstream-ca c',
      'INVALID_COMBINATION',
      '--upstream-ca has no effect: no --upstream begins with https://; remove it, or use https://',
    ],
    [
      '--upstream https://a --upstream-insecure --upstream-ca c',
      'INVALID_COMBINATION',
      '--upstream-insecure disables the check that --upstream-ca is for; remove one of the two',
    ],
    [
      '--upstream https://a --upstream-servername 10.0.0.1',
      'INVALID_VALUE',
      '--upstream-servername: "10.0.0.1" is not a valid host name; write the DNS name in the certificate of the upstream',
    ],
  ])('refuses %s', (args, code, message) => {
    const error = complaint(['run', ...args.split(' ')])
    expect(error.message).toBe(message)
    expect(error.code).toBe(code)
  })

  it('names the environment variable that is wrong', () => {
    expect(complaint(['run'], { SQUALL_STRICT: 'yes' }).message).toBe(
      'SQUALL_STRICT: "yes" is not a valid boolean; use true or false',
    )
    expect(
      complaint(['run'], { SQUALL_LISTEN: ':1,', SQUALL_UPSTREAM: 'unix:/a,unix:/b' }).message,
    ).toMatch(/^SQUALL_LISTEN: "" has no port; /)
  })
})

describe('squall', () => {
  it('prints its version and its help', () => {
    expect(parseCommandLine(['--version'], {}, '1.2.3')).toEqual({ kind: 'print', text: '1.2.3\n' })
    for (const args of [['--help'], ['help']]) {
      const help = parseCommandLine(args, {}, '1.2.3')
      expect(help).toMatchObject({ kind: 'print', text: expect.stringContaining('Usage: squall') })
    }
  })

  it('explains every option of run, with its default', () => {
    const help = parseCommandLine(['run', '--help'], {}, '1.2.3')
    if (help.kind !== 'print') throw new Error('no help')
    const words = help.text.replace(/\s+/g, ' ')
    for (const flag of namedFlags(RUN_FLAGS)) {
      expect(words).toContain(`--${flag.name} `)
      if ('default' in flag) expect(words).toContain(`(default: ${flag.default})`)
    }
  })

  it.each([
    [[], 'no command; start a sidecar with squall run, or see squall --help'],
    [['rum'], 'unknown command "rum"; did you mean run?'],
    [['bogus'], 'unknown command "bogus"; see squall --help'],
    [['loda', '--help'], 'unknown command "loda"; did you mean load?'],
    [['load', 'mrege', '--help'], 'unexpected argument "mrege"; did you mean merge?'],
    [['help', 'experiment', 'serch'], 'unknown command "serch"; did you mean search?'],
    [['--bogus'], 'unknown option "--bogus"; see squall run --help'],
    [['start'], 'unknown command "start"; did you mean run?'],
    [['lint', 'rules.yaml'], 'unknown command "lint"; did you mean validate?'],
    [['doctor'], 'unknown command "doctor"; did you mean check?'],
    [['toxic', 'add'], 'unknown command "toxic"; did you mean fault add?'],
    [['fault', 'start'], 'unknown command "start"; see squall fault --help'],
    [['run', '--port', '80'], 'unknown option "--port"; did you mean --listen 127.0.0.1:15300?'],
    [['load', '--url=http://a'], 'unknown option "--url"; did you mean --target?'],
    [['load', '--rps', '50'], 'unknown option "--rps"; did you mean --rate 50/s?'],
    [['load', '--vus', '5'], 'unknown option "--vus"; did you mean --clients?'],
    [['fault', 'add', 'delay'], 'unexpected argument "delay"; did you mean --delay?'],
    [['run', '--a\nb\u001b[31m'], 'unknown option "--a\\nb\\u001b[31m"; see squall run --help'],
  ])('refuses %j', (args, message) => {
    expect(complaint(args).message).toBe(message)
  })
})
