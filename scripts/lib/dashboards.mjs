import { overview } from '../dashboards/overview.mjs'
import { rulesDashboard } from '../dashboards/rules.mjs'
import { sidecarDashboard } from '../dashboards/sidecar.mjs'

const MADE = { overview, rules: rulesDashboard, sidecar: sidecarDashboard }
const INPUT = {
  name: 'DS_PROMETHEUS',
  label: 'Prometheus',
  description: 'Data source that scrapes the sidecars.',
  type: 'datasource',
  pluginId: 'prometheus',
  pluginName: 'Prometheus',
}

/** Asks for the data source on an import by hand. Provisioning ignores `__inputs`. */
function withInput({ templating, ...dashboard }) {
  const [datasource, ...others] = templating.list
  const value = `\${${INPUT.name}}`
  const chosen = { ...datasource, current: { selected: true, text: value, value } }
  return { __inputs: [INPUT], ...dashboard, templating: { list: [chosen, ...others] } }
}

const files = (directory, form) =>
  Object.entries(MADE).map(([name, make]) => ({
    path: `${directory}/${name}.json`,
    make: () => JSON.stringify(form(make())),
  }))

/** The dashboards for an import by hand. */
export const DASHBOARDS = files('deploy/grafana', withInput)
/** The dashboards for provisioning. */
export const PROVISIONED = files('deploy/chart/files/grafana', (dashboard) => dashboard)
