/* SPDX-License-Identifier: GPL-2.0 */
/* doctor_guest.h - `xvtrace doctor --guest`: what a guest with nothing of xvtrace in it is started
 * with. */
#ifndef XVT_DOCTOR_GUEST_H
#define XVT_DOCTOR_GUEST_H

#include "doctor/stock_guest.h"

/* Print the plan, or why there is none. Returns an exit status. */
int xvt_doctor_guest(const struct xvt_stock_request *request, bool json);

#endif /* XVT_DOCTOR_GUEST_H */
