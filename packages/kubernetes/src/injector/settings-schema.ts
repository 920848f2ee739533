import * as Type from 'typebox'
import { oneOf, PRODUCTION_NAMES, section } from '#rules'
import { ANNOTATIONS } from './annotations.ts'
import { PREFIX, RULES_CONFIG_MAP } from './injected-names.ts'

/** Annotations that may have a default for every pod. */
const DEFAULTS = ANNOTATIONS.filter(
  ({ key, targets }) => key !== 'allow-production' && targets.includes('namespace'),
)

/** The schema of the injector's settings file. */
export const SETTINGS_SCHEMA = section({
  /** Image of the sidecar and of the init container, with its tag or digest. */
  image: Type.Optional(Type.String()),
  imagePullPolicy: Type.Optional(oneOf(['Always', 'IfNotPresent', 'Never'], {})),
  /** Beginnings of images that the annotation `image` may name; none for any. */
  allowedImages: texts([]),
  /** The prefix of keys, with its slash: `squall.dev/`. */
  prefix: text(PREFIX),
  adminPort: port(15_390),
  /** The first port of the sidecar for traffic; further ports follow it. */
  firstListenPort: port(15_300),
  /** The user id of the sidecar; never 0. */
  user: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, default: 65_532 }),
  resources: section(
    {
      cpuRequest: text('10m'),
      cpuLimit: text('1'),
      memoryRequest: text('32Mi'),
      memoryLimit: text('256Mi'),
    },
    { default: {} },
  ),
  /** ConfigMap with rules, unless an annotation names another. */
  rules: text(RULES_CONFIG_MAP),
  /**
   * Secret with the token of the admin API under `token`, and that for reading under `read-token`;
   * neither need be there.
   */
  adminSecret: text('squall-admin'),
  /** Label of namespaces that names their environment. */
  environmentLabel: text('environment'),
  /** Words that mean production in that label, in names of namespaces and of environments. */
  productionEnvironments: texts(PRODUCTION_NAMES),
  /** Decides about pods that ask for the sidecar in a production namespace. */
  productionAction: oneOf(['refuse', 'ignore', 'allow'], { default: 'refuse' }),
  /** Namespaces in which nothing is ever injected. */
  excludedNamespaces: texts(['kube-system', 'kube-node-lease', 'kube-public']),
  /** Add `prometheus.io/…` annotations to pods that have none. */
  scrapeAnnotations: Type.Boolean({ default: true }),
  /**
   * Defaults for every pod, by annotation without prefix; for limits on rules such as `max-percent`,
   * ceilings.
   */
  defaults: Type.Unsafe<Readonly<Record<string, string>>>({
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(DEFAULTS.map(({ key }) => [key, { type: 'string' }])),
    default: {},
  }),
})

/** The operator's settings for every pod. Made by `parseInjectorSettings`. */
export interface InjectorSettings extends Readonly<Type.Static<typeof SETTINGS_SCHEMA>> {
  readonly image: string
  /** Version of the injector, for the status. */
  readonly version: string
}

function text(fallback: string) {
  return Type.String({ default: fallback })
}

function texts(fallback: readonly string[]) {
  const items = Type.String({ minLength: 1 })
  return Type.Unsafe<readonly string[]>(Type.Array(items, { maxItems: 256, default: fallback }))
}

function port(fallback: number) {
  return Type.Integer({ minimum: 1024, maximum: 65_535, default: fallback })
}
