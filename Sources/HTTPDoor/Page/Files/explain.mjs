// Why two devices did, or did not, match: which publication and subscription are meant, and what the daemon says of them.

const pairsMax = 6;

/** The pairs worth asking about, both ways, equal topics first. */
export function pairsOf(a, b) {
  const cross = (publisher, subscriber) => publisher.publications.flatMap((publication) =>
    subscriber.subscriptions.map((subscription) => ({publication, subscription, isSame: publication.topic === subscription.topic})));
  const pairs = [...cross(a, b), ...cross(b, a)];
  return {pairs: pairs.sort((p, q) => q.isSame - p.isSame).slice(0, pairsMax), total: pairs.length};
}

/** Why there is nothing to ask about. */
export function whyNone(a, b) {
  const has = (device) => `${device.id} has ${device.publications.length} publications and ${device.subscriptions.length} subscriptions that you may see`;
  return `Nothing can match: one of the two needs a publication and the other a subscription. ${has(a)}; ${has(b)}.`;
}

export async function explain(link, ids) {
  const [a, b] = await Promise.all(ids.map(async (id) => {
    const [publications, subscriptions] = await Promise.all([
      link.ask('publication/list', {deviceId: id, limit: 50}).then((r) => r.publications, () => []),
      link.ask('subscription/list', {deviceId: id, limit: 50}).then((r) => r.subscriptions, () => []),
    ]);
    return {id, publications, subscriptions};
  }));
  const {pairs, total} = pairsOf(a, b);
  const explained = await Promise.all(pairs.map(async (pair) => {
    const parameters = {publicationId: pair.publication.id, subscriptionId: pair.subscription.id};
    return {...pair, ...(await link.ask('match/explain', parameters).catch((error) => ({error: error.message})))};
  }));
  return {explained, total, why: pairs.length ? null : whyNone(a, b)};
}
