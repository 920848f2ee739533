import { eventually } from '../support/eventually.ts'
import type { ApiServer, CommandRun } from './api-server-process.ts'
import { PATIENCE } from './patience.ts'

/** The annotation of a pod that asks for the sidecar. */
export const ASKS = { annotations: { 'squall.dev/inject': 'true' } }

/** Operations of tests on an API server that admits pods. */
export interface Admission {
  /** Runs kubectl; throws what it complains of. */
  readonly kubectl: (args: readonly string[], input?: string) => Promise<string>
  /** Creates a pod in a namespace; `metadata` is all but its name. */
  readonly create: (namespace: string, name: string, metadata: object) => Promise<CommandRun>
  /**
   * Resolves when a pod would be answered so: as an object when it would be made, and otherwise by
   * why not. An API server takes policies, webhooks and labels of namespaces into use some time
   * after it has stored them: policies once a second, the others as its watches tell it. Nothing is
   * made by asking.
   */
  readonly isActive: (namespace: string, metadata: object, response: RegExp) => Promise<void>
}

/** Asks an API server, as its administrator. */
export function admissionOf(server: ApiServer): Admission {
  return {
    kubectl: async (args, input) => {
      const { ok, text } = await server.run('kubectl', args, input)
      if (!ok) throw new Error(text)
      return text
    },
    create: (namespace, name, metadata) =>
      server.run('kubectl', ['create', '-n', namespace, '-f', '-'], podText(name, metadata)),
    isActive: (namespace, metadata, response) =>
      eventually(async () => {
        const args = ['create', '--dry-run=server', '-n', namespace, '-o', 'json', '-f', '-']
        const { text } = await server.run('kubectl', args, podText('would-be', metadata))
        return response.test(text) ? undefined : `not ${String(response)}:\n${text}`
      }, PATIENCE),
  }
}

/** A pod that Pod Security lets pass everywhere. */
function podText(name: string, metadata: object): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: {
      containers: [
        {
          name: 'app',
          image: 'app',
          ports: [{ name: 'mcp', containerPort: 3000 }],
          securityContext: {
            allowPrivilegeEscalation: false,
            runAsNonRoot: true,
            capabilities: { drop: ['ALL'] },
            seccompProfile: { type: 'RuntimeDefault' },
          },
        },
      ],
    },
  })
}
