import { overview } from '../dashboards/overview.mjs'
import { rulesDashboard } from '../dashboards/rules.mjs'
import { sidecarDashboard } from '../dashboards/sidecar.mjs'

/** The dashboards as Grafana imports them, from their definitions. */
export const DASHBOARDS = [
  { path: 'deploy/grafana/overview.json', make: () => JSON.stringify(overview()) },
  { path: 'deploy/grafana/rules.json', make: () => JSON.stringify(rulesDashboard()) },
  { path: 'deploy/grafana/sidecar.json', make: () => JSON.stringify(sidecarDashboard()) },
]
