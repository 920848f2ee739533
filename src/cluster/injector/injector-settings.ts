/** The operator's settings for every pod. Made by `parseInjectorSettings`. */
export interface InjectorSettings {
  /** Image of the sidecar and of the init container, with its tag or digest. */
  readonly image: string
  readonly imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never' | undefined
  /** Beginnings of images that the annotation `image` may name; none for any. */
  readonly allowedImages: readonly string[]
  /** Version of the injector, for the status. */
  readonly version: string
  /** The prefix of keys, with its slash: `squall.dev/`. */
  readonly prefix: string
  readonly adminPort: number
  /** The first port that the sidecar takes traffic on; more of them follow it. */
  readonly firstListenPort: number
  /** The user id of the sidecar; never 0. */
  readonly user: number
  readonly resources: SidecarResources
  /** ConfigMap with rules, unless an annotation names another. */
  readonly rules: string
  /** Secret with the token of the admin API under `token`, and that for reading under `read-token`; neither need be there. */
  readonly adminSecret: string
  /** Label of namespaces that says where they are. */
  readonly environmentLabel: string
  /** Words that mean production in that label, in names of namespaces and of environments. */
  readonly productionEnvironments: readonly string[]
  /** Decides about pods that ask for the sidecar in a production namespace. */
  readonly productionAction: 'refuse' | 'ignore' | 'allow'
  /** Namespaces in which nothing is ever injected. */
  readonly excludedNamespaces: readonly string[]
  /** Add `prometheus.io/…` annotations to pods that have none. */
  readonly scrapeAnnotations: boolean
  /** Defaults for every pod, by annotation without prefix, such as `max-percent`. */
  readonly defaults: Readonly<Record<string, string>>
}

/** The sidecar's resource requests and limits. */
export interface SidecarResources {
  readonly cpuRequest: string
  readonly cpuLimit: string
  readonly memoryRequest: string
  readonly memoryLimit: string
}
