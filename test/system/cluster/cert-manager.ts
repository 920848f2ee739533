import {
  createCa,
  issueServer,
} from '../../../packages/kubernetes/src/webhook/issue-certificate.ts'
import { NAMESPACE } from '../helm.ts'

const KINDS = ['Issuer', 'Certificate']

/** The kinds of cert-manager that the chart uses. */
export function certManagerKinds(): object {
  return { apiVersion: 'v1', kind: 'List', items: KINDS.map(definition) }
}

/** A kind of cert-manager, of which the API server keeps objects and nothing acts on them. */
function definition(kind: string): object {
  const plural = `${kind.toLowerCase()}s`
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.cert-manager.io` },
    spec: {
      group: 'cert-manager.io',
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
}

/** A certificate of a new CA each time, as an issuer that signs itself makes them. */
export function certManagerSecret(): object {
  const ca = createCa('cert-manager', hour())
  const { cert, key } = issueServer(ca, [`squall.${NAMESPACE}.svc`], hour())
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name: 'squall-cert-manager-tls', namespace: NAMESPACE },
    stringData: { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca.cert },
  }
}

/** The lifetime of a certificate in tests. */
export function hour(): { from: Date; until: Date } {
  return { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) }
}
