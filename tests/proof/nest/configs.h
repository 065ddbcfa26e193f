/* SPDX-License-Identifier: GPL-2.0 */
/*
 * configs.h - what is enumerated; see the table in configs.c.
 */
#ifndef NEST_CONFIGS_H
#define NEST_CONFIGS_H

#include "world.h"

extern const struct nest_config nest_configs[];
extern const uint32_t nest_config_count;

const struct nest_config *nest_config_find(const char *name);
/* Is `name` one of the configuration's lists? */
bool nest_config_in(const struct nest_config *c, const char *list);

#endif /* NEST_CONFIGS_H */
