import { type Fields, fieldsOf, listOf, textOf } from '#base'
import { SIDECAR } from '#kubernetes'
import type { PlanFiles } from './plan-files.ts'

/** The properties of the pods under test that the Job's pod shares. */
export interface SidecarImage {
  readonly image: string
  readonly more: Fields
  readonly pullSecrets: readonly Fields[]
}

/** The options of a run as a Job. */
export interface InCluster {
  readonly serviceAccount: string
  /** Undefined for the full image beside that of the sidecars. */
  readonly image: string | undefined
  /** Further arguments of `squall experiment run`. */
  readonly args: readonly string[]
  /** The prefix of the injector's annotations. */
  readonly prefix: string
  /** The variables of the budget of the cluster, as this command has them. */
  readonly budgetEnv: readonly Fields[]
  readonly stop: AbortSignal
  /** Shows a line of the log, or of what the pod waits for. */
  readonly onLine: (line: string) => void
}

/** Describes the Job of an experiment. */
export interface JobOptions extends InCluster {
  readonly name: string
  readonly namespace: string
  readonly sidecar: SidecarImage
  readonly files: PlanFiles
}

/** The label of the Job's pod, whose value is the name of the Job. */
export const JOB_LABEL = 'app.kubernetes.io/instance'
/** The container of the Job's pod. */
export const RUNNER = 'experiment'

/** Restoring the rules is tried for 30 seconds, and a request takes up to ten. */
const GRACE_SECONDS = 75
const KEPT_SECONDS = 86_400
const READ_TOKEN = 'SQUALL_ADMIN_READ_TOKEN'
const DIRECTORY = '/plan'

const SECURITY = {
  runAsNonRoot: true,
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}

/** The end of the tag of an image that has what pods need, and no experiments. */
const PODS_ALONE = /-sidecar$/

/**
 * Returns the full image beside that of a sidecar, and what it takes to run it; undefined without a
 * sidecar.
 */
export function fullImage(pod: Fields): SidecarImage | undefined {
  const spec = fieldsOf(pod['spec'])
  const containers = [...listOf(spec['initContainers']), ...listOf(spec['containers'])]
  const found = containers.find(({ name }) => name === SIDECAR)
  const image = textOf(found?.['image'])
  if (found === undefined || image === undefined) return undefined
  const { imagePullPolicy, securityContext = SECURITY } = found
  const env = listOf(found['env']).filter(({ name }) => name === READ_TOKEN)
  const more = { ...(imagePullPolicy !== undefined && { imagePullPolicy }), securityContext, env }
  const full = image.replace(PODS_ALONE, '')
  return { image: full, more, pullSecrets: listOf(spec['imagePullSecrets']) }
}

/** Returns an image by its name alone. */
export function namedImage(image: string, like: SidecarImage | undefined): SidecarImage {
  return { ...(like ?? { more: { securityContext: SECURITY }, pullSecrets: [] }), image }
}

/** Returns the ConfigMap with the plan and its files. */
export function planConfigMap({ name, namespace, files }: JobOptions): Fields {
  const metadata = { name, namespace, labels: labelsOf(name) }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: files.data, immutable: true }
}

/** Returns the Job. It runs once: a second run would inject faults that nobody asked for. */
export function experimentJob(options: JobOptions): Fields {
  const { name, namespace, serviceAccount, sidecar, files, args, prefix, budgetEnv } = options
  const labels = labelsOf(name)
  const container = {
    ...sidecar.more,
    env: [...listOf(sidecar.more['env']), ...budgetEnv],
    name: RUNNER,
    image: sidecar.image,
    args: [
      'experiment',
      'run',
      `${DIRECTORY}/${files.plan}`,
      '--json',
      '--progress',
      '--experiments=/tmp/experiments',
      '--state-dir=/tmp/state',
      ...args,
    ],
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'plan', mountPath: DIRECTORY, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  }
  const template = {
    metadata: { labels, annotations: { [`${prefix}inject`]: 'false' } },
    spec: {
      restartPolicy: 'Never',
      serviceAccountName: serviceAccount,
      automountServiceAccountToken: true,
      terminationGracePeriodSeconds: GRACE_SECONDS,
      ...(sidecar.pullSecrets.length > 0 && { imagePullSecrets: sidecar.pullSecrets }),
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [container],
      volumes: [
        { name: 'plan', configMap: { name, items: files.items } },
        { name: 'tmp', emptyDir: { sizeLimit: '256Mi' } },
      ],
    },
  }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace, labels },
    spec: { backoffLimit: 0, ttlSecondsAfterFinished: KEPT_SECONDS, template },
  }
}

function labelsOf(name: string): Readonly<Record<string, string>> {
  return {
    'app.kubernetes.io/part-of': 'squall',
    'app.kubernetes.io/component': 'experiment',
    [JOB_LABEL]: name,
  }
}
