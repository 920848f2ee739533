/** Name of the sidecar. */
export const SIDECAR = 'squall'

/** Name of the init container that redirects traffic. */
export const REDIRECT = 'squall-redirect'

/** Name of the volume with rules. */
export const RULES_VOLUME = 'squall-rules'

/** Name of the volume with what the sidecar may know of its pod. */
export const POD_VOLUME = 'squall-pod'

/** Where that volume is. */
export const POD_DIRECTORY = '/etc/squall/pod'

/** The file in it with the labels of the pod. */
export const LABELS_FILE = 'labels'

/** The variable with the name of what makes the pod. */
export const WORKLOAD_VARIABLE = 'SQUALL_WORKLOAD'

/** The variable with the path of the file with the labels of the pod. */
export const LABELS_VARIABLE = 'SQUALL_POD_LABELS_FILE'

/** Name of the volume that only the sidecar sees. */
export const RUN_VOLUME = 'squall-run'

/** Where that volume is. */
export const RUN_DIRECTORY = '/run/squall'

/** Where the sidecar reads its rules. */
export const RULES_DIRECTORY = '/etc/squall/rules'

/** Name of the volume with the certificate that clients are served with. */
export const TLS_VOLUME = 'squall-tls'

/** Where that volume is. */
export const TLS_DIRECTORY = '/etc/squall/tls'

/** Name of the volume with the certificates that the app is trusted by. */
export const CA_VOLUME = 'squall-upstream-ca'

/** Where those are. */
export const CA_DIRECTORY = '/etc/squall/upstream-ca'

/** All volumes that the injector adds. */
export const VOLUMES: readonly string[] = [
  RULES_VOLUME,
  POD_VOLUME,
  RUN_VOLUME,
  TLS_VOLUME,
  CA_VOLUME,
]

/** Name of the admin port. */
export const ADMIN_PORT_NAME = 'squall-admin'

/** Where the admin port answers probes of the app's containers. */
export const APP_HEALTH = '/app-health'

/**
 * Where Kubernetes mounts the token of the pod's account into every container that has nothing
 * there. Squall asks the API server nothing, and should not be able to.
 */
export const NO_TOKEN = {
  name: RUN_VOLUME,
  mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
  readOnly: true,
} as const
