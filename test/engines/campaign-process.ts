import { Campaign, type CampaignOptions } from './campaign.ts'

// A campaign in a process of its own: what it is about comes as an argument, what came of it is
// printed.
const result = await Campaign.run(JSON.parse(process.argv[2]!) as CampaignOptions)
process.stdout.write(JSON.stringify(result), () => process.exit())
