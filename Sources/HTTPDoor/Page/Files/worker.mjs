// What runs while the page is closed: shows what is pushed, and opens the page.

self.addEventListener('install', () => self.skipWaiting());

self.addEventListener('push', (event) => {
  const message = event.data?.json() ?? {};
  const what = [message.deviceId, message.event].filter(Boolean).join(' ');
  const {title = message.topic ?? 'geomatch', body = what} = message.notification ?? {};
  // One that comes twice takes the place of the first.
  const tag = `${message.matchId ?? message.incidentId ?? what} ${message.event ?? ''}`;
  event.waitUntil(self.registration.showNotification(title, {body, tag, data: message, icon: 'icon.svg'}));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const page = new URL('..', self.location).href;
  event.waitUntil((async () => {
    const open = await self.clients.matchAll({type: 'window', includeUncontrolled: true});
    const mine = open.find(({url}) => url.startsWith(page));
    return mine ? mine.focus() : self.clients.openWindow(page);
  })());
});
