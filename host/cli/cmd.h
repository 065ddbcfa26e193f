/* SPDX-License-Identifier: GPL-2.0 */
/* cmd.h - the commands. Each is in cmd_NAME.c, with its options. */
#ifndef XVT_CMD_H
#define XVT_CMD_H

#include "options/opt.h"

extern const struct xvt_command xvt_cmd_record;
extern const struct xvt_command xvt_cmd_daemon;
extern const struct xvt_command xvt_cmd_report;
extern const struct xvt_command xvt_cmd_stat;
extern const struct xvt_command xvt_cmd_summary;
extern const struct xvt_command xvt_cmd_analyze;
extern const struct xvt_command xvt_cmd_query;
extern const struct xvt_command xvt_cmd_path;
extern const struct xvt_command xvt_cmd_verify;
extern const struct xvt_command xvt_cmd_export;
extern const struct xvt_command xvt_cmd_salvage;
extern const struct xvt_command xvt_cmd_snapshot;
extern const struct xvt_command xvt_cmd_status;
extern const struct xvt_command xvt_cmd_top;
extern const struct xvt_command xvt_cmd_control;
extern const struct xvt_command xvt_cmd_region;
extern const struct xvt_command xvt_cmd_doctor;
extern const struct xvt_command xvt_cmd_guests;
extern const struct xvt_command xvt_cmd_attach;
extern const struct xvt_command xvt_cmd_detach;
extern const struct xvt_command xvt_cmd_order;
extern const struct xvt_command xvt_cmd_trim;
extern const struct xvt_command xvt_cmd_formats;

/* Run `region serve` until a signal comes. Returns an exit status. */
int xvt_region_serve(const char *path, const char *socket_path, uint64_t vectors);

#endif /* XVT_CMD_H */
