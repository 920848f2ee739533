/** The names of the sidecar, and of the init container that redirects traffic. */
export const SIDECAR = 'squall'
export const REDIRECT = 'squall-redirect'

/** The prefix of annotations and labels where no other is set. */
export const PREFIX = 'squall.dev/'

/** The ConfigMap with rules where no other is named. */
export const RULES_CONFIG_MAP = 'squall-rules'
export const RULES_VOLUME = 'squall-rules'
export const RULES_DIRECTORY = '/etc/squall/rules'

/** The facts about the pod that the sidecar may read: its labels. */
export const POD_VOLUME = 'squall-pod'
export const POD_DIRECTORY = '/etc/squall/pod'
export const LABELS_FILE = 'labels'

/** The variables with the name of the pod's workload, and with the path of the labels. */
export const WORKLOAD_VARIABLE = 'SQUALL_WORKLOAD'
export const LABELS_VARIABLE = 'SQUALL_POD_LABELS_FILE'

/** A volume that only the sidecar sees. */
export const RUN_VOLUME = 'squall-run'
export const RUN_DIRECTORY = '/run/squall'

/** The certificate of the listeners. */
export const TLS_VOLUME = 'squall-tls'
export const TLS_DIRECTORY = '/etc/squall/tls'

/** The certificates that the sidecar trusts in the upstream. */
export const CA_VOLUME = 'squall-upstream-ca'
export const CA_DIRECTORY = '/etc/squall/upstream-ca'

/** All volumes that the injector adds. */
export const VOLUMES: readonly string[] = [
  RULES_VOLUME,
  POD_VOLUME,
  RUN_VOLUME,
  TLS_VOLUME,
  CA_VOLUME,
]

export const ADMIN_PORT_NAME = 'squall-admin'

/** The path of the admin port below which it performs the probes of the upstream. */
export const APP_HEALTH = '/app-health'

/**
 * Covers the directory in which Kubernetes mounts the token of the service account. Squall does not
 * use the API server, and must not be able to.
 */
export const NO_TOKEN = {
  name: RUN_VOLUME,
  mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
  readOnly: true,
} as const

/** The key of the record that the injector writes. */
export const STATUS_KEY = 'status'

/** The label by which pods with a sidecar are listed. */
export const SIDECAR_LABEL = 'sidecar'

/** Keys that Squall or its chart writes on pods; they are not options. */
export const OUTPUT_KEYS: readonly string[] = [
  'gateway',
  STATUS_KEY,
  SIDECAR_LABEL,
  'rules-digest',
  'rules-touched',
]

/** The label of namespaces that forbids injection with the value `disabled`. */
export const INJECTION_LABEL = 'injection'
