/* SPDX-License-Identifier: GPL-2.0 */
/* suites.h - what this runner runs. */
#ifndef XVT_ENGINE_SUITES_H
#define XVT_ENGINE_SUITES_H

#include <check.h>

Suite *merge_suite(void);
Suite *clock_suite(void);
Suite *abi_suite(void);
Suite *order_suite(void);
Suite *rounds_suite(void);
Suite *cut_suite(void);
Suite *bounds_suite(void);

#endif
