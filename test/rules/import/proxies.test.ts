// Formats of proxies that know HTTP or TCP alone.
import { describe, expect, it } from 'vitest'
import { imported, notImported } from './imported.ts'

const TYPE = "'@type': type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault"

function filter(keys: string): string {
  return `{ ${TYPE}, ${keys} }`
}

describe('envoy', () => {
  const ABORT = 'abort: { http_status: 503, percentage: { numerator: 10 } }'

  it('reads a filter alone, in both notations, with numbers as strings', () => {
    const { file } = imported(
      filter(
        'responseRateLimit: { fixedLimit: { limitKbps: "64" }, percentage: { numerator: 6290, denominator: TEN_THOUSAND } }, downstreamNodes: [a.b, c]',
      ),
    )
    expect(file.rules).toMatchObject([
      {
        percent: 62.9,
        match: { headers: { 'x-envoy-downstream-service-node': { regex: '^(?:a\\.b|c)$' } } },
        faults: [{ fault: 'throttle', config: { rate: 65_536 } }],
      },
    ])
  })

  it('injects nothing without a percentage, as Envoy does', () => {
    const { file } = imported(filter('delay: { fixed_delay: 0.25s }'))
    expect(file.rules).toMatchObject([{ percent: 0, faults: [{ config: { fixed: 250 } }] }])
  })

  it('disables the rules of a filter that is disabled, or that a matcher selects', () => {
    const config = `typed_config: ${filter(ABORT)}`
    const off = imported(`http_filters: [{ disabled: true, ${config} }]`)
    expect(off.file.rules).toMatchObject([{ enabled: false }])
    expect(off.notes.map((note) => note.split(' ').slice(1))).toEqual([
      ['left_out', 'http_filters[0].disabled'],
    ])
    const matched = imported(`{ extension_config: { ${config} }, xds_matcher: {} }`)
    expect(matched.file.rules).toMatchObject([{ enabled: false }])
    const chain = `{ filter_chain_match: { server_names: [a.b] }, filters: [{ ${config} }] }`
    expect(imported(`filter_chains: [${chain}]`).file.rules).toMatchObject([{ enabled: false }])
    const every = chain.replace('server_names: [a.b]', '')
    expect(imported(`filter_chains: [${every}]`).file.rules).toMatchObject([{ enabled: true }])
    const chosen = `{ filter_chain_matcher: { a: b }, filter_chains: [${every}] }`
    expect(imported(chosen).file.rules).toMatchObject([{ enabled: false }])
    const method = filter(`${ABORT}, headers: [{ name: ':method', present_match: false }]`)
    expect(imported(method).file.rules).toMatchObject([{ enabled: false }])
  })

  it('names the selector of an EnvoyFilter, and disables rules for requests that pods send', () => {
    const patched = (context: string) => {
      const patch = `{ applyTo: HTTP_FILTER, match: { context: ${context} }, patch: { value: { typed_config: ${filter(ABORT)} } } }`
      const selector = 'workloadSelector: { labels: { app: reviews } }'
      return imported(`kind: EnvoyFilter\nspec: { ${selector}, configPatches: [${patch}] }`)
    }
    const inbound = patched('SIDECAR_INBOUND')
    expect(inbound.file.rules).toMatchObject([{ enabled: true }])
    expect(inbound.notes).toEqual(['2:9 left_out spec.workloadSelector'])
    const outbound = patched('SIDECAR_OUTBOUND')
    expect(outbound.file.rules).toMatchObject([{ enabled: false }])
    expect(outbound.notes.at(-1)).toContain('left_out spec.configPatches[0].match.context')
  })

  it('limits active faults for the file, or with several filters for each', () => {
    const one = filter(`max_active_faults: 7, ${ABORT}`)
    expect(imported(one).file).toMatchObject({ maxActive: 7, rules: [{ percent: 10 }] })
    const { file } = imported(`http_filters: [{ typed_config: ${one} }, { typed_config: ${one} }]`)
    expect(file).toMatchObject({ maxActive: 100, rules: [{ maxActive: 7 }, { maxActive: 7 }] })
  })

  it('leaves out faults that callers request, and gRPC', () => {
    const { file, notes } = imported(
      filter('delay: { header_delay: {} }, abort: { grpc_status: 14 }'),
    )
    expect(file.rules).toEqual([])
    expect(notes.map((note) => note.split(' ').slice(1))).toEqual([
      ['left_out', 'delay.header_delay'],
      ['left_out', 'abort.grpc_status'],
    ])
  })

  it.each([
    ['upstream_cluster: shop', 'upstream_cluster'],
    ["headers: [{ name: ':path', exact_match: /mcp }]", 'headers[0].name'],
    ['headers: [{ name: a, range_match: { start: 1, end: 2 } }]', 'headers[0].range_match'],
    [
      "headers: [{ name: a, safe_regex_match: { regex: '(?=a)' } }]",
      'headers[0].safe_regex_match.regex',
    ],
    ['header: [{ name: a }]', 'header'],
  ])('disables a rule with %s', (key, path) => {
    const { file, notes, text } = imported(filter(`${ABORT}, ${key}`))
    expect(file.rules).toMatchObject([{ enabled: false }])
    expect(
      notes.some((note) => note.endsWith(` ${path}`)),
      String(notes),
    ).toBe(true)
    expect(text).toContain('# Disabled: ')
  })

  it('disables the rules of a filter for one route', () => {
    const { file, notes } = imported(
      `routes:\n  - typed_per_filter_config:\n      envoy.filters.http.fault: ${filter(ABORT)}`,
    )
    expect(file.rules).toMatchObject([{ enabled: false }])
    expect(notes).toEqual(['2:5 left_out routes[0].typed_per_filter_config'])
  })
})

it('a header mcp-name becomes the tool, in filters of Envoy and routes of Istio', () => {
  const names =
    '{ name: Mcp-Name, exact_match: pay }, { name: mcp-method, exact_match: tools/call }'
  const envoy = imported(filter(`headers: [${names}], abort: { http_status: 503 }`))
  expect(envoy.file.rules[0]?.match).toEqual({ http: { path: '*' }, tool: 'pay' })
  const istio = imported(
    'kind: VirtualService\nspec: { http: [{ match: [{ headers: { mcp-name: { prefix: pay_ } }, withoutHeaders: { mcp-name: { exact: pay_b } } }], fault: { abort: { httpStatus: 500 } } }] }',
  )
  expect(istio.file.rules[0]?.match).toMatchObject({ tool: 'pay_*', not: { tool: 'pay_b' } })
})

describe('istio', () => {
  const FAULT = 'fault: { abort: { httpStatus: 500 } }'

  function service(...routes: readonly string[]): string {
    const http = routes.map((route) => `    - { ${route} }\n`).join('')
    return `kind: VirtualService\nmetadata: { name: s }\nspec:\n  http:\n${http}`
  }

  it('injects nothing without a percentage, as Istio does', () => {
    const { file } = imported(`kind: VirtualService\nspec: { http: [{ ${FAULT} }] }`)
    expect(file.rules).toMatchObject([{ percent: 0 }])
  })

  it('leaves to a route what routes before it do not take', () => {
    const { file } = imported(
      service(
        'match: [{ uri: { exact: /a }, withoutHeaders: { x-skip: {} } }], route: []',
        `name: rest, ${FAULT}`,
        FAULT,
      ),
    )
    expect(file.rules).toMatchObject([
      {
        name: 's-rest-abort',
        match: {
          http: { path: '*' },
          not: { http: { path: '/a' }, not: { headers: { 'x-skip': { present: true } } } },
        },
      },
    ])
  })

  it.each(['route: []', 'match: [{}], route: []', 'match: [{ uri: { exact: /a } }, {}]'])(
    'leaves out the faults of routes behind one that takes everything: %s',
    (first) => {
      const { file, notes } = imported(service(first, `match: [{ uri: { exact: /b } }], ${FAULT}`))
      expect(file.rules).toEqual([])
      expect(notes).toEqual([expect.stringMatching(/left_out spec\.http\[1\]\.fault$/)])
    },
  )

  it('compares without case, by prefixes with wildcards, and whole expressions', () => {
    const { file } = imported(
      service(
        `match: [{ uri: { prefix: '/a*' } }, { uri: { exact: /B }, ignoreUriCase: true }, { uri: { regex: 'a|b' } }], ${FAULT}`,
      ),
    )
    expect(file.rules[0]?.match?.any?.map(({ http }) => http?.path)).toEqual([
      { regex: '^\\/a\\*' },
      { regex: '(?i)^\\/B$' },
      { regex: '^(?:a|b)$' },
    ])
  })

  it('disables a rule about a caller, and those of routes behind it', () => {
    const { file, notes } = imported(
      service(`match: [{ sourceLabels: { app: a } }], ${FAULT}`, FAULT),
    )
    expect(file.rules.map(({ enabled }) => enabled)).toEqual([false, false])
    expect(notes).toEqual(['5:19 left_out spec.http[0].match[0].sourceLabels'])
  })

  it('disables rules of gateways, and reads items of a list', () => {
    const route = `http: [{ ${FAULT} }]`
    const { file } = imported(
      `kind: List\nitems:\n${['[edge]', '[edge, mesh]']
        .map(
          (gateways) => `  - { kind: VirtualService, spec: { gateways: ${gateways}, ${route} } }\n`,
        )
        .join('')}`,
    )
    expect(file.rules.map(({ enabled }) => enabled)).toEqual([false, true])
  })
})

describe('toxiproxy', () => {
  function proxy(name: string, keys: string): string {
    return `{ name: ${name}, listen: 'a:1', upstream: 'b:1', ${keys} }`
  }

  it('takes a proxy that is down for one that resets requests', () => {
    const { file } = imported(`[${proxy('a', 'enabled: false')}, ${proxy('b', 'enabled: true')}]`)
    expect(file.rules).toMatchObject([{ name: 'a-down', faults: [{ fault: 'reset' }] }])
  })

  it('disables the rules of several proxies with faults', () => {
    const toxics = 'toxics: [{ type: timeout, attributes: { timeout: 0 } }]'
    const { file } = imported(`[${proxy('a', toxics)}, ${proxy('b', toxics)}]`)
    expect(file.rules).toMatchObject([
      { name: 'a-timeout_downstream', enabled: false },
      { name: 'b-timeout_downstream', enabled: false },
    ])
  })

  it('slices at the rate of the source, or not at all', () => {
    const sliced = (delay: string) => {
      const attributes = `attributes: { average_size: 64, size_variation: 0${delay} }`
      const toxics = `toxics: [{ type: slicer, stream: downstream, ${attributes} }]`
      return imported(`[${proxy('a', toxics)}]`)
    }
    const [rule] = sliced(', delay: 10').file.rules
    expect(rule).toMatchObject({ faults: [{ config: { rate: 6_400_000, chunk: 6400 } }] })
    expect(sliced('').file.rules).toEqual([])
    expect(sliced('').notes.join()).toContain('left_out')
  })

  it('leaves out a toxic that does nothing, and a proxy with nothing else', () => {
    const noop = '{ type: noop, stream: upstream, attributes: {} }'
    const { file, notes } = imported(
      `[${proxy('a', `toxics: [${noop}, { type: timeout, attributes: { timeout: 0 } }]`)}, ${proxy('b', `toxics: [${noop}]`)}]`,
    )
    expect(file.rules).toMatchObject([{ name: 'a-timeout_downstream', enabled: true }])
    expect(notes.join()).not.toContain('left_out [0].toxics')
  })

  it('rejects what toxiproxy does not know', () => {
    const toxics = 'toxics: [{ type: latncy, stream: side, attributes: {} }]'
    expect(notImported(`[${proxy('a', toxics)}]`).map(({ message }) => message)).toEqual([
      'unknown type "latncy"; did you mean "latency"?',
      'must be upstream or downstream',
    ])
  })
})

describe('chaos-mesh', () => {
  function chaos(keys: string): string {
    return `kind: HTTPChaos\nspec: { mode: all, selector: {}, port: 80, ${keys} }`
  }

  it('aborts a request before it is delayed', () => {
    const { file } = imported(chaos('target: Request, abort: true, delay: 1m30s'))
    expect(file.rules).toMatchObject([
      {
        name: 'chaos-mesh',
        faults: [
          { fault: 'reset', config: { at: 'request' } },
          { fault: 'delay', config: { fixed: 90_000 } },
        ],
      },
    ])
  })

  it('takes a body that is text as base64, and no other', () => {
    const response = (body: string) =>
      chaos(`target: Response, replace: { code: 500, body: ${body} }`)
    const { file } = imported(response('aGVsbG8='))
    expect(file.rules).toMatchObject([{ faults: [{ config: { body: 'hello' } }] }])
    for (const body of ["'!!not base64!!'", '/w==']) {
      expect(notImported(response(body))).toMatchObject([{ code: 'invalid_value' }])
    }
  })

  it('disables a rule for pods that it cannot select, and leaves out what changes requests', () => {
    const one = chaos('target: Request, abort: true').replace('mode: all', 'mode: one')
    expect(imported(one).file.rules).toMatchObject([{ enabled: false }])
    const { file, notes } = imported(chaos('target: Request, replace: { path: /b }'))
    expect(file.rules).toEqual([])
    expect(notes).toContainEqual(expect.stringMatching(/^2:\d+ left_out spec\.replace\.path$/))
    const coded = imported(chaos('target: Request, delay: 1s, replace: { code: 503 }'))
    expect(coded.notes).toContainEqual(
      expect.stringMatching(/^2:\d+ left_out spec\.replace\.code$/),
    )
  })
})

describe('policies of gateways', () => {
  const policy = (spec: string, kind = 'BackendTrafficPolicy', group = 'envoyproxy.io'): string =>
    `apiVersion: gateway.${group}/v1alpha1\nkind: ${kind}\nmetadata: { name: p }\nspec: { ${spec} }\n`
  const route = (rules: string): string =>
    `---\nkind: HTTPRoute\nmetadata: { name: docs }\nspec: { rules: [${rules}] }\n`
  const ABORT = 'faultInjection: { abort: { httpStatus: 503 } }'
  const DOCS = 'targetRefs: [{ kind: HTTPRoute, name: docs }]'

  it('reads the faults of Envoy Gateway for all calls, without other fields of the policy', () => {
    const { file, notes } = imported(
      policy(
        'targetRefs: [{ kind: Gateway, name: eg }], retry: { numRetries: 2 }, faultInjection: { delay: { fixedDelay: 1s, percentage: 2.5 }, abort: { grpcStatus: 14 } }',
      ),
    )
    expect(file.rules).toMatchObject([
      { name: 'p-delay', percent: 2.5, match: { http: { path: '*' } } },
    ])
    expect(notes).toEqual(['4:149 left_out spec.faultInjection.abort.grpcStatus'])
  })

  it('reads a single target, and disables the rules of one that it cannot read', () => {
    const single = 'targetRef: { kind: HTTPRoute, name: docs }'
    const { file } = imported(
      policy(`${single}, ${ABORT}`) + route('{ matches: [{ path: { value: /a } }] }'),
    )
    expect(file.rules).toMatchObject([{ match: { http: { path: ['/a', '/a/*'] } } }])
    const unknown = imported(policy(`targetZones: [a], ${ABORT}`))
    expect(unknown.file.rules).toMatchObject([{ enabled: false }])
    expect(unknown.notes).toEqual([expect.stringContaining('spec.targetZones')])
  })

  it('reports the hosts of a route', () => {
    const hosts = route('{}').replace('rules:', 'hostnames: [a.example.com], rules:')
    const { notes } = imported(policy(`${DOCS}, ${ABORT}`) + hosts)
    expect(notes).toEqual(['8:20 left_out items[1].spec.hostnames'])
  })

  it('reads rate limit and most faults of kgateway', () => {
    const { file } = imported(
      policy(
        'targetRefs: [{ kind: Gateway, name: a }], faultInjection: { responseRateLimit: { kbitsPerSecond: 64, percentage: 5 }, maxActiveFaults: 7 }',
        'TrafficPolicy',
        'kgateway.dev',
      ),
    )
    expect(file.rules).toMatchObject([
      { percent: 5, maxActive: 7, faults: [{ fault: 'throttle', config: { rate: 8000 } }] },
    ])
    // Gloo Mesh has a kind of the same name.
    expect(notImported(policy(ABORT, 'TrafficPolicy', 'solo.io'))).toHaveLength(1)
  })

  it('takes the matches of a route in the file, with the tool for mcp-name', () => {
    const tool =
      'headers: [{ name: Mcp-Method, value: tools/call }, { name: Mcp-Name, value: pay }]'
    const { file } = imported(
      policy(`${DOCS}, ${ABORT}`) +
        route(
          `{ matches: [{ path: { value: /mcp }, ${tool} }, { method: GET, path: { type: Exact, value: /a } }] }`,
        ),
    )
    expect(file.rules[0]?.match?.any).toMatchObject([
      { tool: 'pay', http: { path: ['/mcp', '/mcp/*'] } },
      { http: { path: '/a', method: 'GET' } },
    ])
    expect(JSON.stringify(file)).not.toContain('mcp-method')
    expect(imported(policy(`${DOCS}, ${ABORT}`) + route('{}')).file.rules).toMatchObject([
      { enabled: true, match: { http: { path: '*' } } },
    ])
  })

  it.each([
    ['a route that is not in the file', DOCS, ''],
    ['labels', 'targetSelectors: []', ''],
    ['a listener', 'targetRefs: [{ kind: Gateway, name: eg, sectionName: a }]', ''],
    [
      'a query',
      DOCS,
      route('{ matches: [{ queryParams: [{ name: a, value: b }], path: { value: /a } }] }'),
    ],
  ])('disables rules for %s', (_name, targets, beside) => {
    const { file, notes } = imported(policy(`${targets}, ${ABORT}`) + beside)
    expect(file.rules).toMatchObject([{ enabled: false }])
    expect(notes).toHaveLength(1)
  })
})

describe('kuma', () => {
  it('reads the universal format, and keeps the order of the faults', () => {
    const { file, notes } = imported(`type: MeshFaultInjection
name: faults
spec:
  rules:
    - default:
        http:
          - abort: { httpStatus: 500, percentage: 70 }
          - abort: { httpStatus: 503, percentage: '12.5' }
    - matches: [{ spiffeID: { type: Exact, value: spiffe://a } }]
      default: { http: [{ delay: { value: 5s, percentage: 5 } }] }
`)
    expect(file.rules).toMatchObject([
      { name: 'faults-abort', percent: 70, faults: [{ config: { status: 500 } }] },
      { name: 'faults-abort-2', percent: 12.5, faults: [{ config: { status: 503 } }] },
      { name: 'faults-delay', percent: 5, enabled: false },
    ])
    expect(notes).toEqual(['9:7 left_out spec.rules[1].matches'])
  })

  it.each([
    ['abort: { httpStatus: 500 }', 'missing_key'],
    ["abort: { httpStatus: 500, percentage: '101' }", 'wrong_type'],
    ['delay: { value: 5, percentage: 5 }', 'wrong_type'],
    ['responseBandwidth: { limit: 5mbit, percentage: 5 }', 'invalid_value'],
  ])('rejects %s', (fault, code) => {
    const text = `kind: MeshFaultInjection\nspec:\n  from:\n    - targetRef: { kind: Mesh }\n      default: { http: [{ ${fault} }] }`
    expect(notImported(text)[0]).toMatchObject({ code, line: 5 })
  })
})
