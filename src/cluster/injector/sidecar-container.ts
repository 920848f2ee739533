import {
  ADMIN_PORT_NAME,
  LABELS_FILE,
  LABELS_VARIABLE,
  NO_TOKEN,
  POD_DIRECTORY,
  POD_VOLUME,
  RULES_DIRECTORY,
  RULES_VOLUME,
  RUN_DIRECTORY,
  RUN_VOLUME,
  SIDECAR,
  WORKLOAD_VARIABLE,
} from './injected-names.ts'
import { STOP_KEY } from '../../rules/guard/stop-key.ts'
import type { Plan } from './plan.ts'
import type { Container, ContainerPort, EnvVar, Probe, Volume } from './pod-types.ts'
import { shutdownTimes } from './shutdown-times.ts'
import { sidecarArgs, upstreamHost } from './sidecar-args.ts'
import { heapOption, toResources } from './sidecar-resources.ts'

const RULES_FILE = /\.(?:yaml|yml|json)$/

/** The sidecar of a pod. */
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
    // Both bounds, for namespaces whose quota demands them.
    resources: toResources(plan.resources),
    // Why it ended is then seen by kubectl describe.
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
      runAsGroup: user,
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

/** The volumes of the sidecar. */
export function sidecarVolumes({ options, settings, tls }: Plan): readonly Volume[] {
  const name = options.get('rules') ?? settings.rules
  const key = options.get('rules-key')
  // Other names would not be read as rules.
  const path = key === undefined || RULES_FILE.test(key) ? key : `${key}.yaml`
  const stop = { key: STOP_KEY, path: STOP_KEY }
  const items = key === undefined || path === undefined ? {} : { items: [{ key, path }, stop] }
  return [
    { name: RULES_VOLUME, configMap: { name, optional: true, ...items } },
    // A volume, for variables would not see that labels change.
    {
      name: POD_VOLUME,
      downwardAPI: { items: [{ path: LABELS_FILE, fieldRef: { fieldPath: 'metadata.labels' } }] },
    },
    { name: RUN_VOLUME, emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    ...tls.volumes,
  ]
}

function sidecarEnv(plan: Plan): readonly EnvVar[] {
  const { settings, mode, probes } = plan
  const { stopWait } = shutdownTimes(plan.graceSeconds)
  const fromSecret = (name: string, key: string): EnvVar => ({
    name,
    valueFrom: { secretKeyRef: { name: settings.adminSecret, key, optional: true } },
  })
  const env: EnvVar[] = [
    { name: 'SQUALL_POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ...podNamespace(settings),
    // By variable, so that the hooks know them, too.
    { name: 'SQUALL_ADMIN', value: `[::]:${settings.adminPort}` },
    { name: 'SQUALL_CONTROL', value: `unix:${RUN_DIRECTORY}/control.sock` },
    { name: 'SQUALL_STOP_WAIT', value: `${stopWait}s` },
    fromSecret('SQUALL_ADMIN_TOKEN', 'token'),
    fromSecret('SQUALL_ADMIN_READ_TOKEN', 'read-token'),
    { name: 'NODE_OPTIONS', value: heapOption(plan.resources) },
  ]
  env.push({ name: LABELS_VARIABLE, value: `${POD_DIRECTORY}/${LABELS_FILE}` })
  if (plan.workload !== undefined) env.push({ name: WORKLOAD_VARIABLE, value: plan.workload })
  const podIp = { fieldRef: { fieldPath: 'status.podIP' } }
  if (mode === 'bind') env.push({ name: 'POD_IP', valueFrom: podIp })
  if (upstreamHost(plan) === undefined) env.push({ name: 'SQUALL_UPSTREAM_HOST', valueFrom: podIp })
  if (Object.keys(probes).length > 0) {
    env.push({ name: 'SQUALL_APP_PROBES', value: literal(JSON.stringify(probes)) })
  }
  return env
}

/** The name of the namespace may mean production; where no name does, it is left out. */
function podNamespace({ productionEnvironments }: Plan['settings']): readonly EnvVar[] {
  if (productionEnvironments.length === 0) return []
  const valueFrom = { fieldRef: { fieldPath: 'metadata.namespace' } }
  return [{ name: 'POD_NAMESPACE', valueFrom }]
}

function sidecarPorts({ mode, ports, settings }: Plan): readonly ContainerPort[] {
  const admin = { name: ADMIN_PORT_NAME, containerPort: settings.adminPort, protocol: 'TCP' }
  if (mode === 'bind') return [admin]
  const taken = ports.map(({ name, listen }) => ({
    // The name is what Services look for; elsewhere the port is found without.
    ...(mode === 'port' && name !== undefined && { name }),
    containerPort: listen,
    protocol: 'TCP',
  }))
  return [...taken, admin]
}

function ask(path: string, port: number, periodSeconds: number, failureThreshold: number): Probe {
  return { httpGet: { path, port }, periodSeconds, timeoutSeconds: 3, failureThreshold }
}

/** Returns a value in which Kubernetes replaces no `$(NAME)`. */
export function literal(text: string): string {
  return text.replaceAll('$', '$$$$')
}
