// A new account shows times in the zone of the browser; without this they are shown in UTC.
"use strict";
for (const field of document.querySelectorAll("[data-time-zone]")) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
}
