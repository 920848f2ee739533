import { describe, expect, it } from 'vitest'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { InjectionContext } from '../../src/injector/injection.ts'
import type { Pod } from '../../src/injector/pod.ts'
import { contextOf, podOf, SETTINGS } from './contexts.ts'

const two = {
  containers: [
    { name: 'app', ports: [{ name: 'mcp', containerPort: 3000 }] },
    { name: 'other', ports: [{ containerPort: 4000 }] },
  ],
}
const unnamed = { containers: [{ name: 'app', ports: [{ containerPort: 3000 }] }] }
const restricted = { namespace: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } }
const production = { namespace: { labels: { environment: 'Production' } } }

interface Case {
  readonly what: string
  readonly pod: Pod
  readonly context?: InjectionContext
  readonly reason: string
  /** Matches the part of the message that makes it actionable. */
  readonly says: RegExp
}

const REFUSED: readonly Case[] = [
  ...[
    ['otlp-endpoint', 'collector:4317', /write a URL without a user/],
    ['otlp-endpoint', 'http://me:secret@collector', /write a URL without a user/],
    ['otel-env', 'NODE_OPTIONS=--inspect', /write variables such as OTEL_/],
    ['otel-env', 'OTEL_EXPORTER_OTLP_HEADERS=authorization=x', /key otlp-headers of the Secret/],
    ['trace-url', 'https://tracing.example.com/', /write a URL such as .*\{trace\}/],
    ['trace-url', 'javascript:alert({trace})', /write a URL such as .*\{trace\}/],
    // The webhook checks the rules in keys with such a name alone.
    [
      'rules-key',
      'notes',
      /ends in \.yaml, \.yml or \.json, .*, and rename the key in the ConfigMap, too/,
    ],
    ['rules-key', '.rules.yaml', /write a key that ends in \.yaml/],
  ].map(([key, value, says]) => ({
    what: `${String(key)} ${String(value)}`,
    pod: podOf({ [String(key)]: String(value) }),
    reason: 'invalid_value',
    says: says as RegExp,
  })),
  {
    what: 'a word that is neither true nor false',
    pod: { metadata: { labels: { 'squall.dev/inject': 'yes' } }, spec: { containers: [] } },
    reason: 'invalid_value',
    says: /squall\.dev\/inject is "yes": use one of true, false/,
  },
  {
    what: 'a misspelt key',
    pod: podOf({ 'max-precent': '10%' }),
    reason: 'unknown_key',
    says: /did you mean squall\.dev\/max-percent\?/,
  },
  {
    what: 'a misspelt key on a pod that asks for nothing',
    pod: { metadata: { annotations: { 'squall.dev/injct': 'true' } }, spec: {} },
    reason: 'unknown_key',
    says: /did you mean squall\.dev\/inject\?/,
  },
  {
    what: 'a key of namespaces on a pod',
    pod: podOf({ 'allow-production': 'true' }),
    reason: 'unknown_key',
    says: /has no effect on the pod: set it on the namespace/,
  },
  {
    what: 'a key of pods on a namespace',
    pod: podOf(),
    context: contextOf({ namespace: { annotations: { 'squall.dev/inject': 'true' } } }),
    reason: 'unknown_key',
    says: /has no effect on the namespace "tools": set it on the pod template/,
  },
  {
    what: 'a condition in no known form',
    pod: podOf({ 'rollback-on': 'not-ready for 10s, real-errors>1' }),
    reason: 'invalid_value',
    says: /rollback-on of the pod is "not-ready for 10s, real-errors>1": write "real-errors>1% for 30s"$/,
  },
  {
    what: 'more conditions than allowed, counted with those of the namespace',
    pod: podOf({ 'rollback-on': 'calls>3x for 10s' }),
    context: contextOf({
      namespace: {
        annotations: { 'squall.dev/rollback-on': Array(16).fill('not-ready for 10s').join(',') },
      },
    }),
    reason: 'invalid_value',
    says: /rollback-on of the pod is "calls>3x for 10s": write at most 16 conditions$/,
  },
  {
    what: 'an annotation written as a label',
    pod: {
      ...podOf(),
      metadata: { labels: { 'squall.dev/mode': 'port', 'squall.dev/inject': 'true' } },
    },
    reason: 'unknown_key',
    says: /label squall\.dev\/mode has no effect: use an annotation/,
  },
  {
    what: 'a value with a line break',
    pod: podOf({ rules: 'a\nb' }),
    reason: 'invalid_value',
    says: /squall\.dev\/rules of the pod is "a\\nb": write the name of an object/,
  },
  {
    what: 'a value that a terminal would obey',
    pod: podOf({ environment: '\u001b[2Jx\u202e' }),
    reason: 'invalid_value',
    says: /is "\\u001b\[2Jx\\u\{202e\}": use letters/,
  },
  {
    what: 'an empty value',
    pod: podOf({ ports: '' }),
    reason: 'invalid_value',
    says: /set a value, or remove the key/,
  },
  {
    what: 'a bad default of the namespace',
    pod: podOf(),
    context: contextOf({ namespace: { annotations: { 'squall.dev/mode': 'magic' } } }),
    reason: 'invalid_value',
    says: /of the namespace "tools" is "magic": use one of auto, redirect, port, bind/,
  },
  {
    what: 'a namespace of the system',
    pod: podOf(),
    context: contextOf({ namespace: { name: 'kube-system' } }),
    reason: 'excluded_namespace',
    says: /nothing is injected in the namespace "kube-system"/,
  },
  {
    what: 'production',
    pod: podOf({ environment: 'staging' }),
    context: contextOf(production),
    reason: 'production',
    says: /the label environment of the namespace "tools", "Production" counts as production .*squall\.dev\/allow-production: "true" on the namespace/,
  },
  {
    what: 'production by the name of the namespace',
    pod: podOf({ environment: 'staging' }),
    context: contextOf({ namespace: { name: 'Shop-prd', isKnown: false } }),
    reason: 'production',
    says: /the namespace "Shop-prd" counts as production \(it matches prd\*\).*webhook\.readNamespaces/,
  },
  {
    what: 'the network of the node, whatever the mode',
    pod: podOf({ mode: 'bind' }, { hostNetwork: true }),
    reason: 'host_network',
    says: /run it without hostNetwork/,
  },
  {
    what: 'no port',
    pod: podOf({}, { containers: [{ name: 'app' }] }),
    reason: 'no_port',
    says: /annotation squall\.dev\/ports, such as "3000"/,
  },
  {
    what: 'several ports',
    pod: podOf({}, two),
    reason: 'many_ports',
    says: /3000 \(mcp\) of app, 4000 of other: name the port/,
  },
  {
    what: 'a name that no port has',
    pod: podOf({ ports: 'http' }),
    reason: 'unknown_port',
    says: /named http: use its number, or one of 3000 \(mcp\)/,
  },
  {
    what: 'a container that is not there',
    pod: podOf({ container: 'web' }, two),
    reason: 'unknown_container',
    says: /container "web" not found in the pod: use one of app, other/,
  },
  {
    what: 'a port of another protocol',
    pod: podOf(
      { ports: '53' },
      { containers: [{ name: 'app', ports: [{ containerPort: 53, protocol: 'UDP' }] }] },
    ),
    reason: 'udp_port',
    says: /declared as UDP: use a TCP port/,
  },
  {
    what: 'the admin port as the port of the upstream',
    pod: podOf({ ports: '15390' }),
    reason: 'reserved_port',
    says: /15390 is the admin port of the sidecar/,
  },
  {
    what: 'a port of the upstream with the name of the admin port',
    pod: podOf(
      { mode: 'port' },
      { containers: [{ name: 'app', ports: [{ name: 'squall-admin', containerPort: 3000 }] }] },
    ),
    reason: 'reserved_port',
    says: /port name squall-admin \(port 3000\) is reserved/,
  },
  {
    what: 'a container that has the name of the sidecar',
    pod: podOf({}, { containers: [...two.containers, { name: 'squall' }] }),
    reason: 'name_taken',
    says: /named squall that the injector did not add/,
  },
  {
    what: 'redirect where NET_ADMIN is forbidden',
    pod: podOf({ mode: 'redirect' }),
    context: contextOf(restricted),
    reason: 'pod_security',
    says: /level "restricted", which forbids NET_ADMIN.*or use squall\.dev\/mode: port/,
  },
  {
    what: 'redirect beside a mesh',
    pod: podOf(
      { mode: 'redirect' },
      { containers: [...two.containers, { name: 'linkerd-proxy' }] },
    ),
    context: contextOf({ settings: { ...SETTINGS, defaults: { ports: 'mcp' } } }),
    reason: 'mesh',
    says: /Linkerd's container linkerd-proxy, .*squall\.dev\/mode: port/,
  },
  {
    what: 'a port without a name where only names can be taken',
    pod: podOf({}, unnamed),
    context: contextOf(restricted),
    reason: 'unnamed_port',
    says: /name containerPort 3000, such as mcp/,
  },
  {
    what: 'an upstream outside the pod',
    pod: podOf({ 'upstream-host': '10.0.0.1' }),
    reason: 'invalid_value',
    says: /your MCP server is in the same pod/,
  },
  {
    what: 'the address that the sidecar itself takes',
    pod: podOf({ mode: 'bind', 'upstream-host': 'pod-ip' }),
    reason: 'upstream_host',
    says: /let your MCP server listen on 127\.0\.0\.1/,
  },
  {
    what: 'an image that is not allowed',
    pod: podOf({ image: 'evil.example/squall:1' }),
    context: contextOf({ settings: { ...SETTINGS, allowedImages: ['good.example/'] } }),
    reason: 'image',
    says: /use an image that begins with good\.example\//,
  },
  {
    what: 'less than what is asked for',
    pod: podOf({ 'memory-request': '1Gi' }),
    reason: 'resources',
    says: /1Gi of memory, with a limit of 256Mi: set memory-request to at most memory-limit/,
  },
  {
    what: 'too little memory for the program',
    pod: podOf({ 'memory-limit': '32Mi' }),
    reason: 'invalid_value',
    says: /at least 128Mi/,
  },
  {
    what: 'a native sidecar where there are none',
    pod: podOf({ 'native-sidecar': 'true' }),
    context: contextOf({ minor: 28 }),
    reason: 'native_sidecar',
    says: /1\.28 has no native sidecars/,
  },
  {
    what: 'a job beside a plain container',
    pod: podOf(),
    context: contextOf({ owner: 'Job', minor: 30 }),
    reason: 'job',
    says: /squall\.dev\/native-sidecar: "true" from Kubernetes 1\.29 on/,
  },
  {
    what: 'a status that nobody wrote',
    pod: podOf({ status: '{"mode":"redirect","undo":{"probes":{"a":1}}}' }),
    reason: 'invalid_status',
    says: /was not written by the injector/,
  },
  {
    what: 'more probes than the sidecar takes',
    pod: podOf(
      { ports: '3000' },
      {
        containers: Array.from({ length: 40 }, (_, i) => ({
          name: `c${i}`,
          livenessProbe: { tcpSocket: { port: 3000 } },
          readinessProbe: { tcpSocket: { port: 3000 } },
        })),
      },
    ),
    reason: 'too_large',
    says: /more than 64 probes/,
  },
]

describe('a pod is denied, with what to do, for', () => {
  it.each(REFUSED)('$what', ({ pod, context = contextOf(), reason, says }) => {
    const injection = injectPod(pod, context)
    expect(injection).toMatchObject({ kind: 'denied', reason })
    expect('message' in injection && injection.message).toMatch(says)
  })
})
