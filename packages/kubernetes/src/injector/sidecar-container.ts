import {
  ADMIN_PORT_NAME,
  LABELS_FILE,
  LABELS_VARIABLE,
  NO_TOKEN,
  POD_DIRECTORY,
  POD_VOLUME,
  REDIRECT,
  RULES_DIRECTORY,
  RULES_VOLUME,
  RUN_DIRECTORY,
  RUN_VOLUME,
  SIDECAR,
  WORKLOAD_VARIABLE,
} from './injected-names.ts'
import { OUTBOUND_GROUP } from './outbound.ts'
import { STOP_KEY } from '#rules'
import {
  literal,
  type Plan,
  reachesByLoopback,
  shutdownTimes,
  sidecarArgs,
  upstreamHost,
} from './sidecar-args.ts'
import type { Container, ContainerPort, EnvVar, ObjectMeta, Pod, Probe, Volume } from './pod.ts'
import { assignments } from './value-checks.ts'
import { heapOption, toResources } from './sidecar-resources.ts'

export function sidecarContainer(plan: Plan): Container {
  const { settings, native } = plan
  const { imagePullPolicy, user } = settings
  return {
    name: SIDECAR,
    image: plan.image,
    ...(imagePullPolicy && { imagePullPolicy }),
    ...(native && { restartPolicy: 'Always' }),
    args: sidecarArgs(plan),
    env: sidecarEnv(plan),
    ports: sidecarPorts(plan),
    // Requests and limits, for namespaces whose quota requires both.
    resources: toResources(plan.resources),
    // kubectl describe then shows the last log lines.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...(native && { startupProbe: ask('/readyz', settings.adminPort, 1, 60) }),
    readinessProbe: ask('/readyz', settings.adminPort, 5, 3),
    livenessProbe: ask('/livez', settings.adminPort, 10, 6),
    lifecycle: {
      // The containers after a plain one start when this hook has ended.
      ...(!native && { postStart: { exec: { command: ['squall', 'wait-ready'] } } }),
      preStop: { exec: { command: ['squall', 'pre-stop'] } },
    },
    securityContext: {
      runAsUser: user,
      runAsGroup: plan.outbound.length > 0 ? OUTBOUND_GROUP : user,
      runAsNonRoot: true,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
    volumeMounts: [
      // A whole directory: a file mounted by subPath never sees an update.
      { name: RULES_VOLUME, mountPath: RULES_DIRECTORY, readOnly: true },
      { name: POD_VOLUME, mountPath: POD_DIRECTORY, readOnly: true },
      { name: RUN_VOLUME, mountPath: RUN_DIRECTORY },
      ...plan.tls.mounts,
      NO_TOKEN,
    ],
  }
}

export function sidecarVolumes({ options, settings, tls }: Plan): readonly Volume[] {
  const name = options.get('rules') ?? settings.rules
  const key = options.get('rules-key')
  const items =
    key === undefined ? {} : { items: [key, STOP_KEY].map((each) => ({ key: each, path: each })) }
  return [
    { name: RULES_VOLUME, configMap: { name, optional: true, ...items } },
    // A volume, because variables do not follow changes of labels.
    {
      name: POD_VOLUME,
      downwardAPI: { items: [{ path: LABELS_FILE, fieldRef: { fieldPath: 'metadata.labels' } }] },
    },
    { name: RUN_VOLUME, emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    ...tls.volumes,
  ]
}

function sidecarEnv(plan: Plan): readonly EnvVar[] {
  const { settings, mode, probes, options, native, ports } = plan
  // Nothing shows when a pod without a server has ended; native sidecars are stopped after it.
  const stopWait = native && ports.length === 0 ? 0 : shutdownTimes(plan.graceSeconds).stopWait
  const fromSecret = (name: string, key: string): EnvVar => ({
    name,
    valueFrom: { secretKeyRef: { name: settings.adminSecret, key, optional: true } },
  })
  const env: EnvVar[] = [
    fromPod('SQUALL_POD', 'metadata.name'),
    // No name means production where there are none.
    ...(settings.productionEnvironments.length === 0
      ? []
      : [fromPod('POD_NAMESPACE', 'metadata.namespace')]),
    // By variable, so that the hooks get them, too.
    { name: 'SQUALL_ADMIN', value: `[::]:${settings.adminPort}` },
    { name: 'SQUALL_CONTROL', value: `unix:${RUN_DIRECTORY}/control.sock` },
    { name: 'SQUALL_STOP_WAIT', value: `${stopWait}s` },
    fromSecret('SQUALL_ADMIN_TOKEN', 'token'),
    fromSecret('SQUALL_ADMIN_READ_TOKEN', 'read-token'),
    { name: 'NODE_OPTIONS', value: heapOption(plan.resources.memoryLimit) },
  ]
  const collector = options.get('otlp-endpoint')
  if (collector !== undefined) {
    env.push({ name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: literal(collector) })
    env.push(fromSecret('OTEL_EXPORTER_OTLP_HEADERS', 'otlp-headers'))
  }
  for (const each of assignments(options.get('otel-env') ?? '')) {
    const [name = ''] = each.split('=', 1)
    env.push({ name, value: literal(each.slice(name.length + 1)) })
  }
  env.push({ name: LABELS_VARIABLE, value: `${POD_DIRECTORY}/${LABELS_FILE}` })
  if (plan.workload !== undefined) env.push({ name: WORKLOAD_VARIABLE, value: plan.workload })
  if (plan.temporaryDenial !== undefined) {
    // By variable: an older image ignores it, where a flag would keep it from starting.
    env.push({ name: 'SQUALL_DENY_TEMPORARY_FAULTS', value: literal(plan.temporaryDenial) })
  }
  if (mode === 'bind') env.push(fromPod('POD_IP', 'status.podIP'))
  if (upstreamHost(plan) === undefined) env.push(fromPod('SQUALL_UPSTREAM_HOST', 'status.podIP'))
  if (Object.keys(probes).length > 0) {
    env.push({ name: 'SQUALL_APP_PROBES', value: literal(JSON.stringify(probes)) })
  }
  return env
}

/** Returns a variable with a field of the pod. */
export function fromPod(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}

function sidecarPorts({ mode, ports, settings }: Plan): readonly ContainerPort[] {
  const admin = { name: ADMIN_PORT_NAME, containerPort: settings.adminPort, protocol: 'TCP' }
  if (mode === 'bind') return [admin]
  const taken = ports.map(({ name, listen }) => ({
    // Services find the port by its name in mode port only.
    ...(mode === 'port' && name !== undefined && { name }),
    containerPort: listen,
    protocol: 'TCP',
  }))
  return [...taken, admin]
}

function ask(path: string, port: number, periodSeconds: number, failureThreshold: number): Probe {
  return { httpGet: { path, port }, periodSeconds, timeoutSeconds: 3, failureThreshold }
}

/** Returns true for a pod whose traffic an init container redirects. */
export function needsRedirect({ mode, outbound }: Pick<Plan, 'mode' | 'outbound'>): boolean {
  return mode === 'redirect' || outbound.length > 0
}

/** Builds the init container that redirects traffic to the sidecar. It has one capability. */
export function redirectContainer(plan: Plan): Container {
  const { settings, outbound, image, resources } = plan
  const ports = plan.mode === 'redirect' ? plan.ports : []
  const { imagePullPolicy } = settings
  return {
    name: REDIRECT,
    image,
    ...(imagePullPolicy && { imagePullPolicy }),
    args: [
      'redirect',
      ...ports.flatMap(({ number, listen }) => ['--port', `${number}=${listen}`]),
      ...outbound.flatMap(({ captures }) => captures.flatMap((each) => ['--outbound', each])),
      '--admin',
      `[::]:${settings.adminPort}`,
      // Without this, the sidecar's traffic to loopback would be redirected to itself.
      ...(ports.length > 0 && reachesByLoopback(plan)
        ? ['--exempt-uid', String(settings.user)]
        : []),
    ],
    resources: toResources(resources),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [NO_TOKEN],
    securityContext: {
      // Root: other users receive added capabilities only from files that have them.
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  }
}

const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container'
const SCRAPE = 'prometheus.io/scrape'
const SCRAPE_PORT = 'prometheus.io/port'
const SCRAPE_PATH = 'prometheus.io/path'

/** Returns annotations for kubectl and Prometheus, where the pod has none. */
export function addedAnnotations(
  { metadata, spec }: Pod,
  { settings, native, ports }: Plan,
): Readonly<Record<string, string>> {
  const app = ports[0]?.container ?? spec?.containers?.[0]?.name
  return {
    // A plain sidecar comes first, and kubectl uses the first container by default.
    ...(!native && app !== undefined && !has(metadata, DEFAULT_CONTAINER)
      ? { [DEFAULT_CONTAINER]: app }
      : {}),
    ...(settings.scrapeAnnotations &&
    ![SCRAPE, SCRAPE_PORT, SCRAPE_PATH].some((key) => has(metadata, key))
      ? { [SCRAPE]: 'true', [SCRAPE_PORT]: String(settings.adminPort), [SCRAPE_PATH]: '/metrics' }
      : {}),
  }
}

function has(metadata: ObjectMeta | null | undefined, key: string): boolean {
  return metadata?.annotations?.[key] !== undefined
}
