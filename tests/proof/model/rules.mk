# SPDX-License-Identifier: GPL-2.0
# Models need spin, nothing of ours; tests/run.sh runs the short bounds.

.PHONY: model-full
model-full:
	$(Q)tests/proof/model/t_model.sh full
PROOFS += model-full
