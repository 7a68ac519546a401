/*
 * json.h - reading and writing of JSON, for files that do both: values in a text (jscan.h), strings (jstr.h), objects whose
 * members a table names (jdec.h), and texts (jenc.h). It brings base/buf.h, base/err.h and base/slice.h, which their
 * functions take; no file that has this one includes them.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "json/jdec.h"
#include "json/jenc.h"
#include "json/jscan.h"
#include "json/jstr.h"
